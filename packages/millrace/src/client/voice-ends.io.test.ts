import { describe, expect, test } from 'vitest'
import { failureOf, until } from './follow.test-kit.ts'
import type { ClientOptions, VoiceLineOptions } from './index.ts'
import { browserMicrophone, browserPlayer, client } from './index.ts'
import { rate, sentence, speaking, threadAt, turnOf } from './voice-line.test-kit.ts'
import { ownedMicrophone, ownedPlayer, voiceServer } from './voice-server.test-kit.ts'

describe('a microphone on a voice line', () => {
  test('is sent in frames of one length, each with its place', async () => {
    await using server = await voiceServer()
    const { microphone, say } = ownedMicrophone()
    let open = false
    const line = threadAt(server).voice({
      microphone,
      sampleRate: rate,
      onState: (s) => (open = s === 'open'),
    })
    const visit = await server.visit(0)
    await until(() => open)
    const all = Int16Array.from({ length: 1000 }, (_, index) => index - 500)
    for (let at = 0; at < 1000; at += 130) say(all.subarray(at, at + 130))
    await until(() => visit.audio.length === 2)
    expect(visit.audio).toEqual([
      { kind: 'microphone', turn: 0, seq: 0, position: 0, pcm: all.slice(0, 400) },
      { kind: 'microphone', turn: 0, seq: 1, position: 400, pcm: all.slice(400, 800) },
    ])
    await line.close()
  })

  test('is left out while the socket is behind, and goes on with its place', async () => {
    await using server = await voiceServer()
    const { microphone, say } = ownedMicrophone()
    let behind = 0
    class Slow extends WebSocket {
      override get bufferedAmount() {
        return behind
      }
    }
    let open = false
    const line = threadAt(server, { WebSocket: Slow as ClientOptions['WebSocket'] }).voice({
      microphone,
      sampleRate: rate,
      onState: (state) => (open = state === 'open'),
    })
    const visit = await server.visit(0)
    await until(() => open)
    say(new Int16Array(400))
    behind = 1_000_000
    say(new Int16Array(800))
    behind = 0
    say(new Int16Array(400))
    await until(() => visit.audio.length === 2)
    expect(visit.audio.map(({ seq, position }) => ({ seq, position }))).toEqual([
      { seq: 0, position: 0 },
      { seq: 1, position: 1200 },
    ])
    await line.close()
  })

  test('that may not be used ends it, and gives up the player', async () => {
    await using server = await voiceServer()
    const { microphone, log } = ownedMicrophone({ refuse: new Error('denied') })
    const { player, log: playerLog } = ownedPlayer()
    const problems: unknown[] = []
    const line = threadAt(server).voice({ player, microphone, onError: (one) => problems.push(one) })
    expect(await failureOf(line.ended)).toMatchObject({ message: 'denied' })
    expect(problems).toEqual([{ message: 'denied' }])
    expect([...log, ...playerLog].sort()).toEqual(['close', 'close', 'open', 'open'])
    expect(server.visits).toEqual([])
  })

  test('that is unplugged ends it', async () => {
    await using server = await voiceServer()
    const { microphone, unplug } = ownedMicrophone()
    const line = threadAt(server).voice({ microphone })
    await server.visit(0)
    unplug()
    expect(await failureOf(line.ended)).toMatchObject({ message: 'it was unplugged' })
  })
})

describe('what ends a voice line', () => {
  test('close turns it off and gives everything up, however early it comes', async () => {
    await using server = await voiceServer()
    const early = ownedPlayer()
    const never = threadAt(server).voice({ player: early.player })
    await Promise.all([never.close(), never.close()])
    expect(early.log).not.toContain('open')

    const { visit, line, log, states } = await speaking(server)
    await until(() => states.includes('open'))
    await line.close()
    await line.ended
    expect(log).toEqual(['open', 'close'])
    await until(() => visit.commands.length === 2)
    expect(visit.commands[1]).toEqual({ type: 'voice' })
    await until(() => server.open === 0)
  })

  test('another line goes on with the sentence that was not heard to its end', async () => {
    await using server = await voiceServer()
    const { visit, play, hasAudio, line } = await speaking(server)
    visit.tell(turnOf(1), sentence(1, 0))
    visit.speak(1, 0, 1000)
    visit.tell(sentence(1, 1))
    visit.speak(1, 1000, 1000)
    visit.tell(sentence(1, 2))
    visit.speak(1, 2000, 1000)
    visit.tell({ type: 'voice_end', turn: 1, samples: 3000 }, { type: 'ping' })
    await until(() => visit.commands.some(({ type }) => (type as string) === 'pong') && hasAudio())
    play(1500)
    expect(await line.close()).toEqual({ seq: 7, round: 1, chars: 10 })
    const from = { seq: 3, round: 2, chars: 5 }
    const silent = threadAt(server).voice({ player: ownedPlayer().player, from })
    await server.visit(1)
    expect(await silent.close()).toEqual(from)
  })

  test('so does the signal, which may be aborted before', async () => {
    await using server = await voiceServer()
    const aborted = threadAt(server).voice({ player: ownedPlayer().player, signal: AbortSignal.abort() })
    await aborted.ended
    expect(server.visits).toEqual([])
    const controller = new AbortController()
    const { line, states } = await speaking(server, { signal: controller.signal })
    await until(() => states.includes('open'))
    controller.abort()
    await line.ended
    await until(() => server.open === 0)
  })

  test('a person who takes long to allow a microphone does not keep it open', async () => {
    await using server = await voiceServer()
    const microphone = { open: () => new Promise<void>(() => {}), close: async () => {} }
    const line = threadAt(server).voice({ microphone })
    await line.close()
  })

  test('a server without a voice does', async () => {
    const refusal = { type: 'error', code: 'invalid_input', message: 'there is no voice here' }
    await using server = await voiceServer({ answer: () => refusal })
    const { line } = await speaking(server)
    expect(await failureOf(line.ended)).toMatchObject({
      code: 'invalid_input',
      message: 'there is no voice here',
    })
    expect(server.visits).toHaveLength(1)
  })

  test('a server that speaks otherwise than it was asked to does', async () => {
    await using server = await voiceServer({
      answer: (wish) => ({ ...wish, session: 's', sampleRate: 16_000 }),
    })
    const { line } = await speaking(server)
    expect(await failureOf(line.ended)).toMatchObject({ message: expect.stringMatching(/16000/) })
  })

  test('why a socket was refused is asked over HTTP', async () => {
    await using server = await voiceServer({ status: 401 })
    const { player } = ownedPlayer()
    const line = threadAt(server).voice({ player })
    expect(await failureOf(line.ended)).toMatchObject({ code: 'auth', message: 'who are you?' })
  })

  test('a server that cannot be reached does, after as many tries as were allowed', async () => {
    const { player } = ownedPlayer()
    const retries: unknown[] = []
    const options = { retry: { attempts: 3, baseMs: 1 }, onRetry: (error: unknown) => retries.push(error) }
    const line = threadAt({ url: 'http://127.0.0.1:9' }, options).voice({ player })
    expect(await failureOf(line.ended)).toMatchObject({ code: 'stream_error' })
    expect(retries).toHaveLength(2)
  })
})

describe('misuse', () => {
  const { player } = ownedPlayer()
  test.each<[string, unknown, RegExp]>([
    ['nothing', {}, /pass a 'player', a 'microphone' or both/],
    ['to speak without a player', { speak: true }, /browserPlayer\(\)/],
    ['to listen without a microphone', { player, listen: true }, /browserMicrophone\(\)/],
    ['a rate that cannot be', { player, sampleRate: 96_000 }, /8000 to 48000, not 96000/],
    ['an option that does not exist', { player, onSentense: () => {} }, /did you mean 'onSentence'/],
    ['a player that is none', { player: 'loud' }, /'player' must be an object/],
    ['no options', 'loud', /takes an object of options/],
  ])('%s is refused', (_, options, message) => {
    const thread = client('http://127.0.0.1:9').thread('t1')
    expect(() => thread.voice(options as VoiceLineOptions)).toThrow(message)
  })

  test('a client with headers cannot speak', () => {
    const thread = client('http://127.0.0.1:9', { headers: { 'x-key': '1' } }).thread('t1')
    expect(() => thread.voice({ player })).toThrow(/pass a 'token'/)
  })

  test('the parts of a browser are for browsers', async () => {
    expect(() => browserPlayer({ workletUrl: 4 } as never)).toThrow(/must be an address/)
    expect(() => browserMicrophone({ device: 'x' } as never)).toThrow(/did you mean 'deviceId'/)
    const options = { sampleRate: rate, onPlayed: () => {}, onAudio: () => {}, onEnd: () => {} }
    expect(await failureOf(browserPlayer().open(options))).toMatchObject({
      code: 'invalid_input',
      message: expect.stringMatching(/for browsers/),
    })
    expect(await failureOf(browserMicrophone().open(options))).toMatchObject({
      message: expect.stringMatching(/no microphone here/),
    })
  })
})
