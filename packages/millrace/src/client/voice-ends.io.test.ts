import { describe, expect, test } from 'vitest'
import { errorOf, until } from './follow.test-kit.ts'
import type { ClientOptions, VoiceLineOptions } from './index.ts'
import { browserMicrophone, browserPlayer, client } from './index.ts'
import { openLine, rate, sentence, threadAt, turnOf } from './voice-line.test-kit.ts'
import { manualMicrophone, manualPlayer, voiceServer } from './voice-server.test-kit.ts'

describe('the microphone of a voice line', () => {
  test('is sent in frames of equal length, each with its position', async () => {
    await using server = await voiceServer()
    const { microphone, say } = manualMicrophone()
    let open = false
    const line = threadAt(server).voice({
      microphone,
      sampleRate: rate,
      onState: (s) => (open = s === 'open'),
    })
    const connection = await server.connection(0)
    await until(() => open)
    const all = Int16Array.from({ length: 1000 }, (_, index) => index - 500)
    for (let at = 0; at < 1000; at += 130) say(all.subarray(at, at + 130))
    await until(() => connection.audio.length === 2)
    expect(connection.audio).toEqual([
      { kind: 'microphone', turn: 0, seq: 0, position: 0, pcm: all.slice(0, 400) },
      { kind: 'microphone', turn: 0, seq: 1, position: 400, pcm: all.slice(400, 800) },
    ])
    await line.close()
  })

  test('is dropped while the send buffer is full, and continues at its position', async () => {
    await using server = await voiceServer()
    const { microphone, say } = manualMicrophone()
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
    const connection = await server.connection(0)
    await until(() => open)
    say(new Int16Array(400))
    behind = 1_000_000
    say(new Int16Array(800))
    behind = 0
    say(new Int16Array(400))
    await until(() => connection.audio.length === 2)
    expect(connection.audio.map(({ seq, position }) => ({ seq, position }))).toEqual([
      { seq: 0, position: 0 },
      { seq: 1, position: 1200 },
    ])
    await line.close()
  })

  test('ends the line and closes the player if access is denied', async () => {
    await using server = await voiceServer()
    const { microphone, log } = manualMicrophone({ openError: new Error('denied') })
    const { player, log: playerLog } = manualPlayer()
    const problems: unknown[] = []
    const line = threadAt(server).voice({ player, microphone, onError: (one) => problems.push(one) })
    expect(await errorOf(line.ended)).toMatchObject({ message: 'denied' })
    expect(problems).toEqual([{ message: 'denied' }])
    expect([...log, ...playerLog].sort()).toEqual(['close', 'close', 'open', 'open'])
    expect(server.connections).toEqual([])
  })

  test('ends the line when it is unplugged', async () => {
    await using server = await voiceServer()
    const { microphone, unplug } = manualMicrophone()
    const line = threadAt(server).voice({ microphone })
    await server.connection(0)
    unplug()
    expect(await errorOf(line.ended)).toMatchObject({ message: 'unplugged' })
  })
})

describe('a voice line ends', () => {
  test('with close(), however early, which releases everything', async () => {
    await using server = await voiceServer()
    const early = manualPlayer()
    const never = threadAt(server).voice({ player: early.player })
    await Promise.all([never.close(), never.close()])
    expect(early.log).not.toContain('open')

    const { connection, line, log, states } = await openLine(server)
    await until(() => states.includes('open'))
    await line.close()
    await line.ended
    expect(log).toEqual(['open', 'close'])
    await until(() => connection.commands.length === 2)
    expect(connection.commands[1]).toEqual({ type: 'voice' })
    await until(() => server.open === 0)
  })

  test('with a position at which another line can continue', async () => {
    await using server = await voiceServer()
    const { connection, play, hasAudio, line } = await openLine(server)
    connection.send(turnOf(1), sentence(1, 0))
    connection.speak(1, 0, 1000)
    connection.send(sentence(1, 1))
    connection.speak(1, 1000, 1000)
    connection.send(sentence(1, 2))
    connection.speak(1, 2000, 1000)
    connection.send({ type: 'voice_end', turn: 1, samples: 3000 }, { type: 'ping' })
    await until(() => connection.commands.some(({ type }) => (type as string) === 'pong') && hasAudio())
    play(1500)
    expect(await line.close()).toEqual({ seq: 7, round: 1, chars: 10 })
    const from = { seq: 3, round: 2, chars: 5 }
    const silent = threadAt(server).voice({ player: manualPlayer().player, from })
    await server.connection(1)
    expect(await silent.close()).toEqual(from)
  })

  test('with its signal, which may already be aborted', async () => {
    await using server = await voiceServer()
    const aborted = threadAt(server).voice({ player: manualPlayer().player, signal: AbortSignal.abort() })
    await aborted.ended
    expect(server.connections).toEqual([])
    const controller = new AbortController()
    const { line, states } = await openLine(server, { signal: controller.signal })
    await until(() => states.includes('open'))
    controller.abort()
    await line.ended
    await until(() => server.open === 0)
  })

  test('even while the user has not answered the microphone prompt', async () => {
    await using server = await voiceServer()
    const microphone = { open: () => new Promise<void>(() => {}), close: async () => {} }
    const line = threadAt(server).voice({ microphone })
    await line.close()
  })

  test('if the server has no voice', async () => {
    const error = { type: 'error', code: 'invalid_input', message: 'this server has no voice' }
    await using server = await voiceServer({ answer: () => error })
    const { line } = await openLine(server)
    expect(await errorOf(line.ended)).toMatchObject({
      code: 'invalid_input',
      message: 'this server has no voice',
    })
    expect(server.connections).toHaveLength(1)
  })

  test('if the server uses another sample rate', async () => {
    await using server = await voiceServer({
      answer: (command) => ({ ...command, session: 's', sampleRate: 16_000 }),
    })
    const { line } = await openLine(server)
    expect(await errorOf(line.ended)).toMatchObject({ message: expect.stringMatching(/16000/) })
  })

  test('if its socket is rejected, with the reason that HTTP returns', async () => {
    await using server = await voiceServer({ status: 401 })
    const { player } = manualPlayer()
    const line = threadAt(server).voice({ player })
    expect(await errorOf(line.ended)).toMatchObject({ code: 'auth', message: 'sign in first' })
  })

  test('if the server cannot be reached, after the allowed attempts', async () => {
    const { player } = manualPlayer()
    const retries: unknown[] = []
    const options = { retry: { attempts: 3, baseMs: 1 }, onRetry: (error: unknown) => retries.push(error) }
    const line = threadAt({ url: 'http://127.0.0.1:9' }, options).voice({ player })
    expect(await errorOf(line.ended)).toMatchObject({ code: 'stream_error' })
    expect(retries).toHaveLength(2)
  })
})

describe('invalid options', () => {
  const { player } = manualPlayer()
  test.each<[string, unknown, RegExp]>([
    ['empty options', {}, /pass a 'player', a 'microphone' or both/],
    ['speak without a player', { speak: true }, /browserPlayer\(\)/],
    ['listen without a microphone', { player, listen: true }, /browserMicrophone\(\)/],
    ['an invalid sample rate', { player, sampleRate: 96_000 }, /8000 to 48000, not 96000/],
    ['an unknown option', { player, onSentense: () => {} }, /did you mean 'onSentence'/],
    ['an invalid player', { player: 'loud' }, /'player' must be an object/],
    ['a string', 'loud', /takes an object of options/],
  ])('%s: rejected', (_, options, message) => {
    const thread = client('http://127.0.0.1:9').thread('t1')
    expect(() => thread.voice(options as VoiceLineOptions)).toThrow(message)
  })

  test('voice is rejected for a client with headers', () => {
    const thread = client('http://127.0.0.1:9', { headers: { 'x-key': '1' } }).thread('t1')
    expect(() => thread.voice({ player })).toThrow(/pass a 'token'/)
  })

  test('browserPlayer() and browserMicrophone() need a browser', async () => {
    expect(() => browserPlayer({ workletUrl: 4 } as never)).toThrow(/must be a URL/)
    expect(() => browserMicrophone({ device: 'x' } as never)).toThrow(/did you mean 'deviceId'/)
    const options = { sampleRate: rate, onPlayed: () => {}, onAudio: () => {}, onEnd: () => {} }
    expect(await errorOf(browserPlayer().open(options))).toMatchObject({
      code: 'invalid_input',
      message: expect.stringMatching(/only works in a browser/),
    })
    expect(await errorOf(browserMicrophone().open(options))).toMatchObject({
      message: expect.stringMatching(/microphone access is not available/),
    })
  })
})
