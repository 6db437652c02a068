import { describe, expect, test } from 'vitest'
import { WebSocket as WsSocket } from 'ws'
import { failureOf, until } from './follow.test-kit.ts'
import { client } from './index.ts'
import { logServer } from './log-server.test-kit.ts'
import { rate, sentence, speaking, threadAt, turnOf } from './voice-line.test-kit.ts'
import { ownedMicrophone, ownedPlayer, voiceServer } from './voice-server.test-kit.ts'

const neither = { speak: false, listen: false }

describe('whether a server speaks and listens', () => {
  test.each([
    ['is told', 200, { speak: true, listen: false }, { speak: true, listen: false }],
    ['is not so if it does not know', 404, { error: { code: 'not_found', message: 'no' } }, neither],
    ['is not so if it says something else', 200, { speak: 'yes' }, neither],
  ])('%s', async (_, status, body, found) => {
    await using server = await logServer({
      answer: (__, response) => response.writeHead(status).end(JSON.stringify(body)),
    })
    expect(await client(server.url).voice()).toEqual(found)
    expect(server.requests.map(({ url }) => url)).toEqual(['/voice'])
  })

  test('is an error if it may not be known', async () => {
    const error = { code: 'auth', message: 'who are you?' }
    await using server = await logServer({
      answer: (_, response) => response.writeHead(401).end(JSON.stringify({ error })),
    })
    expect(await failureOf(client(server.url).voice())).toMatchObject({ ...error, op: 'client.voice' })
  })
})

describe('a voice line', () => {
  test('asks for what is wanted, on a socket that sends no entries', async () => {
    await using server = await voiceServer()
    const microphone = ownedMicrophone()
    const { visit, line, states } = await speaking(server, { microphone: microphone.microphone })
    expect(visit.url).toBe('/threads/t1/socket')
    expect(visit.commands).toEqual([{ type: 'voice', speak: true, listen: true, sampleRate: rate }])
    await until(() => states.includes('open'))
    await line.close()
    await line.ended
    expect(states).toEqual(['connecting', 'open', 'closed'])
  })

  test('sends a token as a subprotocol, over any WebSocket', async () => {
    await using server = await voiceServer()
    const { player } = ownedPlayer()
    const line = threadAt(server, { token: 'ü', WebSocket: WsSocket }).voice({ player })
    const visit = await server.visit(0)
    expect(visit.protocols).toMatch(/^millrace\.v1, ?millrace\.bearer\.w7w$/)
    expect(visit.commands[0]).toMatchObject({ sampleRate: 24_000, listen: false })
    await line.close()
  })

  test('plays what comes, and tells each sentence when it begins to be heard', async () => {
    await using server = await voiceServer()
    const { visit, play, hasAudio, heard, sentences, line } = await speaking(server)
    visit.tell(turnOf(1), sentence(1, 0))
    visit.speak(1, 0, 1000)
    visit.tell(sentence(1, 1))
    visit.speak(1, 1000, 1000)
    visit.tell({ type: 'voice_sentence', turn: 1, position: 2000, text: 'One moment.' })
    visit.speak(1, 2000, 500)
    await until(hasAudio)
    expect(sentences).toEqual([])
    play(1)
    expect(sentences).toEqual([{ text: 'Sentence 0', seq: 7, round: 1, start: 0, chars: 10 }])
    play(999)
    expect(sentences).toHaveLength(1)
    await until(() => play(100).position > 1000)
    expect(sentences[1]).toMatchObject({ text: 'Sentence 1' })
    await until(() => play(100).position === 2500)
    expect(sentences[2]).toEqual({ text: 'One moment.', seq: 7 })
    // From 32 samples on it has faded in.
    const levels = heard.slice(100, 2500).map((level) => Math.round(level * 32_768))
    expect(levels).toEqual(Array.from({ length: 2400 }, (_, index) => index + 100))
    await line.close()
  })

  test('reports how far it is now and then, and at once when nothing is left and at the end', async () => {
    await using server = await voiceServer()
    const { visit, play, hasAudio, line } = await speaking(server)
    visit.tell(turnOf(1), sentence(1, 0))
    visit.speak(1, 0, 1000)
    await until(hasAudio)
    for (let index = 0; index < 90; index++) play(10)
    expect(play(500)).toMatchObject({ position: 1000, idle: true })
    const played = (position: number) => ({ type: 'voice_played', turn: 1, position })
    await until(() => visit.reports().length >= 2)
    const reports = visit.reports()
    expect(reports[0]).toEqual(played(10))
    expect(reports.at(-1)).toEqual(played(1000))
    // Not each of a hundred steps.
    expect(reports.length).toBeLessThan(20)
    visit.tell({ type: 'voice_end', turn: 1, samples: 1000 })
    await until(() => visit.reports().length === reports.length + 1)
    expect(visit.reports().at(-1)).toEqual(played(1000))
    await line.close()
  })

  test('pauses, says where, and goes on from there', async () => {
    await using server = await voiceServer()
    const { visit, play, hasAudio, line } = await speaking(server)
    visit.tell(turnOf(1), sentence(1, 0))
    visit.speak(1, 0, 1000)
    await until(hasAudio)
    play(300)
    visit.tell({ type: 'voice_pause', turn: 1 })
    await until(() => visit.reports().length === 2)
    expect(visit.reports()[1]).toEqual({ type: 'voice_played', turn: 1, position: 300 })
    expect(play(100).position).toBe(300)
    visit.tell({ type: 'voice_resume', turn: 1 })
    await until(() => play(10).position > 300)
    await line.close()
  })

  test('is quiet when it is hushed, says where, and plays nothing more of the turn', async () => {
    await using server = await voiceServer()
    const { visit, play, hasAudio, line, sentences } = await speaking(server)
    visit.tell(turnOf(1), sentence(1, 0))
    visit.speak(1, 0, 1000)
    await until(hasAudio)
    play(300)
    visit.tell({ type: 'voice_pause', turn: 1 }, { type: 'voice_hush', turn: 1 })
    visit.speak(1, 1000, 1000)
    visit.tell(sentence(1, 1))
    await until(() => visit.reports().length === 3)
    expect(visit.reports()[2]).toEqual({ type: 'voice_played', turn: 1, position: 300 })
    expect(hasAudio()).toBe(false)
    visit.tell(turnOf(2, 9), sentence(2, 0))
    visit.speak(2, 0, 500)
    await until(hasAudio)
    play(500)
    expect(sentences.map(({ seq }) => seq)).toEqual([7, 9])
    await until(() => visit.reports().length === 4)
    expect(visit.reports()[3]).toEqual({ type: 'voice_played', turn: 2, position: 500 })
    await line.close()
  })

  test('forgets what is taken back and not played', async () => {
    await using server = await voiceServer()
    const { visit, play, hasAudio, line, sentences } = await speaking(server)
    visit.tell(turnOf(1), sentence(1, 0))
    visit.speak(1, 0, 1000)
    visit.tell(sentence(1, 1))
    visit.speak(1, 1000, 1000)
    visit.tell({ type: 'voice_retract', turn: 1, position: 1000 })
    visit.tell({ ...sentence(1, 1, 2000), text: 'Said anew' })
    visit.speak(1, 2000, 500)
    visit.tell({ type: 'voice_end', turn: 1, samples: 2500 })
    await until(hasAudio)
    await until(() => play(100).position === 2500)
    expect(sentences.map(({ text }) => text)).toEqual(['Sentence 0', 'Said anew'])
    await until(() => visit.reports().at(-1)?.type === 'voice_played')
    await until(() => JSON.stringify(visit.reports().at(-1)).includes('2500'))
    await line.close()
  })

  test('a turn whose end was taken back is over when nothing is left', async () => {
    await using server = await voiceServer()
    const { visit, play, hasAudio, line } = await speaking(server)
    visit.tell(turnOf(1), sentence(1, 0))
    visit.speak(1, 0, 1000)
    await until(hasAudio)
    play(200)
    visit.tell({ type: 'voice_retract', turn: 1, position: 0 }, { type: 'voice_end', turn: 1, samples: 1000 })
    const pongs = () => visit.commands.filter(({ type }) => (type as string) === 'pong').length
    visit.tell({ type: 'ping' })
    await until(() => pongs() === 1)
    line.interrupt()
    visit.tell({ type: 'ping' })
    await until(() => pongs() === 2)
    expect(visit.commands.map(({ type }) => type)).not.toContain('voice_interrupt')
    await line.close()
  })

  test('stops by itself when it is interrupted, then says where', async () => {
    await using server = await voiceServer()
    const { visit, play, hasAudio, line } = await speaking(server)
    line.interrupt()
    visit.tell(turnOf(1), sentence(1, 0))
    visit.speak(1, 0, 1000)
    await until(hasAudio)
    play(400)
    line.interrupt()
    line.interrupt()
    expect(hasAudio()).toBe(false)
    await until(() => visit.reports().length === 2)
    expect(visit.reports()[1]).toEqual({ type: 'voice_interrupt', turn: 1, position: 400 })
    await line.close()
    await until(() => visit.commands.at(-1)?.type === 'voice')
    expect(visit.reports()).toHaveLength(2)
  })

  test('tells what was understood, what was recorded and what went wrong', async () => {
    await using server = await voiceServer()
    const told: unknown[] = []
    const { visit, line } = await speaking(server, {
      onTranscript: (transcript) => told.push(transcript),
      onHearing: (speech) => told.push(speech),
      onRecord: (record) => told.push(record),
      onError: (problem) => told.push(problem),
    })
    visit.tell(
      { type: 'voice_hearing', speech: true },
      { type: 'voice_transcript', text: 'Where', final: false },
      { type: 'voice_transcript', text: 'Where is it?', final: true, seq: 4 },
      { type: 'voice_record', record: { turn: 1 } },
      { type: 'voice_error', turn: 1, message: 'no breath', text: 'Hello' },
      { type: 'error', code: 'invalid_input', message: 'not so' },
    )
    await until(() => told.length === 6)
    expect(told).toEqual([
      true,
      { text: 'Where', final: false },
      { text: 'Where is it?', final: true, seq: 4 },
      { turn: 1 },
      { message: 'no breath', text: 'Hello' },
      { message: 'not so' },
    ])
    await line.close()
  })
})
