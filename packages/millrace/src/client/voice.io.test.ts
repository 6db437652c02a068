import { describe, expect, test } from 'vitest'
import { WebSocket as WsSocket } from 'ws'
import { errorOf, until } from './follow.test-kit.ts'
import { client } from './index.ts'
import { logServer } from './log-server.test-kit.ts'
import { openLine, rate, sentence, threadAt, turnOf } from './voice-line.test-kit.ts'
import { manualMicrophone, manualPlayer, voiceServer } from './voice-server.test-kit.ts'

const neither = { speak: false, listen: false }

describe('client.voice()', () => {
  test.each([
    ['returns what the server supports', 200, { speak: true, listen: false }, { speak: true, listen: false }],
    ['returns false for an older server', 404, { error: { code: 'not_found', message: 'no' } }, neither],
    ['returns false for an invalid response', 200, { speak: 'yes' }, neither],
  ])('%s', async (_, status, body, found) => {
    await using server = await logServer({
      answer: (__, response) => response.writeHead(status).end(JSON.stringify(body)),
    })
    expect(await client(server.url).voice()).toEqual(found)
    expect(server.requests.map(({ url }) => url)).toEqual(['/voice'])
  })

  test('rejects without permission', async () => {
    const error = { code: 'auth', message: 'sign in first' }
    await using server = await logServer({
      answer: (_, response) => response.writeHead(401).end(JSON.stringify({ error })),
    })
    expect(await errorOf(client(server.url).voice())).toMatchObject({ ...error, op: 'client.voice' })
  })
})

describe('a voice line', () => {
  test('sends its options, on a socket that sends no entries', async () => {
    await using server = await voiceServer()
    const microphone = manualMicrophone()
    const { connection, line, states } = await openLine(server, { microphone: microphone.microphone })
    expect(connection.url).toBe('/threads/t1/socket')
    expect(connection.commands).toEqual([{ type: 'voice', speak: true, listen: true, sampleRate: rate }])
    await until(() => states.includes('open'))
    await line.close()
    await line.ended
    expect(states).toEqual(['connecting', 'open', 'closed'])
  })

  test('sends a token as a subprotocol, over any WebSocket', async () => {
    await using server = await voiceServer()
    const { player } = manualPlayer()
    const line = threadAt(server, { token: 'ü', WebSocket: WsSocket }).voice({ player })
    const connection = await server.connection(0)
    expect(connection.protocols).toMatch(/^millrace\.v1, ?millrace\.bearer\.w7w$/)
    expect(connection.commands[0]).toMatchObject({ sampleRate: 24_000, listen: false })
    await line.close()
  })

  test('plays audio, and reports each sentence when its playback starts', async () => {
    await using server = await voiceServer()
    const { connection, play, hasAudio, output, sentences, line } = await openLine(server)
    connection.send(turnOf(1), sentence(1, 0))
    connection.speak(1, 0, 1000)
    connection.send(sentence(1, 1))
    connection.speak(1, 1000, 1000)
    connection.send({ type: 'voice_sentence', turn: 1, position: 2000, text: 'One moment.' })
    connection.speak(1, 2000, 500)
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
    // The fade-in takes 32 samples.
    const levels = output.slice(100, 2500).map((level) => Math.round(level * 32_768))
    expect(levels).toEqual(Array.from({ length: 2400 }, (_, index) => index + 100))
    await line.close()
  })

  test('reports its position periodically, and at once when it is idle and at the end', async () => {
    await using server = await voiceServer()
    const { connection, play, hasAudio, line } = await openLine(server)
    connection.send(turnOf(1), sentence(1, 0))
    connection.speak(1, 0, 1000)
    await until(hasAudio)
    for (let index = 0; index < 90; index++) play(10)
    expect(play(500)).toMatchObject({ position: 1000, idle: true })
    const played = (position: number) => ({ type: 'voice_played', turn: 1, position })
    await until(() => connection.reports().length >= 2)
    const reports = connection.reports()
    expect(reports[0]).toEqual(played(10))
    expect(reports.at(-1)).toEqual(played(1000))
    // Far fewer than the number of steps.
    expect(reports.length).toBeLessThan(20)
    connection.send({ type: 'voice_end', turn: 1, samples: 1000 })
    await until(() => connection.reports().length === reports.length + 1)
    expect(connection.reports().at(-1)).toEqual(played(1000))
    await line.close()
  })

  test('pauses, reports its position, and resumes there', async () => {
    await using server = await voiceServer()
    const { connection, play, hasAudio, line } = await openLine(server)
    connection.send(turnOf(1), sentence(1, 0))
    connection.speak(1, 0, 1000)
    await until(hasAudio)
    play(300)
    connection.send({ type: 'voice_pause', turn: 1 })
    await until(() => connection.reports().length === 2)
    expect(connection.reports()[1]).toEqual({ type: 'voice_played', turn: 1, position: 300 })
    expect(play(100).position).toBe(300)
    connection.send({ type: 'voice_resume', turn: 1 })
    await until(() => play(10).position > 300)
    await line.close()
  })

  test('is silenced, reports its position, and plays nothing more of the turn', async () => {
    await using server = await voiceServer()
    const { connection, play, hasAudio, line, sentences } = await openLine(server)
    connection.send(turnOf(1), sentence(1, 0))
    connection.speak(1, 0, 1000)
    await until(hasAudio)
    play(300)
    connection.send({ type: 'voice_pause', turn: 1 }, { type: 'voice_silence', turn: 1 })
    connection.speak(1, 1000, 1000)
    connection.send(sentence(1, 1))
    await until(() => connection.reports().length === 3)
    expect(connection.reports()[2]).toEqual({ type: 'voice_played', turn: 1, position: 300 })
    expect(hasAudio()).toBe(false)
    connection.send(turnOf(2, 9), sentence(2, 0))
    connection.speak(2, 0, 500)
    await until(hasAudio)
    play(500)
    expect(sentences.map(({ seq }) => seq)).toEqual([7, 9])
    await until(() => connection.reports().length === 4)
    expect(connection.reports()[3]).toEqual({ type: 'voice_played', turn: 2, position: 500 })
    await line.close()
  })

  test('drops retracted audio that was not played', async () => {
    await using server = await voiceServer()
    const { connection, play, hasAudio, line, sentences } = await openLine(server)
    connection.send(turnOf(1), sentence(1, 0))
    connection.speak(1, 0, 1000)
    connection.send(sentence(1, 1))
    connection.speak(1, 1000, 1000)
    connection.send({ type: 'voice_retract', turn: 1, position: 1000 })
    connection.send({ ...sentence(1, 1, 2000), text: 'Said again' })
    connection.speak(1, 2000, 500)
    connection.send({ type: 'voice_end', turn: 1, samples: 2500 })
    await until(hasAudio)
    await until(() => play(100).position === 2500)
    expect(sentences.map(({ text }) => text)).toEqual(['Sentence 0', 'Said again'])
    await until(() => connection.reports().at(-1)?.type === 'voice_played')
    await until(() => JSON.stringify(connection.reports().at(-1)).includes('2500'))
    await line.close()
  })

  test('finishes a turn whose end was retracted when nothing is left to play', async () => {
    await using server = await voiceServer()
    const { connection, play, hasAudio, line } = await openLine(server)
    connection.send(turnOf(1), sentence(1, 0))
    connection.speak(1, 0, 1000)
    await until(hasAudio)
    play(200)
    connection.send(
      { type: 'voice_retract', turn: 1, position: 0 },
      { type: 'voice_end', turn: 1, samples: 1000 },
    )
    const pongs = () => connection.commands.filter(({ type }) => (type as string) === 'pong').length
    connection.send({ type: 'ping' })
    await until(() => pongs() === 1)
    line.interrupt()
    connection.send({ type: 'ping' })
    await until(() => pongs() === 2)
    expect(connection.commands.map(({ type }) => type)).not.toContain('voice_interrupt')
    await line.close()
  })

  test('stops at once when it is interrupted, then reports its position', async () => {
    await using server = await voiceServer()
    const { connection, play, hasAudio, line } = await openLine(server)
    line.interrupt()
    connection.send(turnOf(1), sentence(1, 0))
    connection.speak(1, 0, 1000)
    await until(hasAudio)
    play(400)
    line.interrupt()
    line.interrupt()
    expect(hasAudio()).toBe(false)
    await until(() => connection.reports().length === 2)
    expect(connection.reports()[1]).toEqual({ type: 'voice_interrupt', turn: 1, position: 400 })
    await line.close()
    await until(() => connection.commands.at(-1)?.type === 'voice')
    expect(connection.reports()).toHaveLength(2)
  })

  test('reports transcripts, speech, records and errors', async () => {
    await using server = await voiceServer()
    const received: unknown[] = []
    const { connection, line } = await openLine(server, {
      onTranscript: (transcript) => received.push(transcript),
      onSpeech: (speech) => received.push(speech),
      onRecord: (record) => received.push(record),
      onError: (problem) => received.push(problem),
    })
    connection.send(
      { type: 'voice_speech', speaking: true },
      { type: 'voice_transcript', text: 'Where', final: false },
      { type: 'voice_transcript', text: 'Where is it?', final: true, seq: 4 },
      { type: 'voice_record', record: { turn: 1 } },
      { type: 'voice_error', turn: 1, message: 'no audio', text: 'Hello' },
      { type: 'error', code: 'invalid_input', message: 'not so' },
    )
    await until(() => received.length === 6)
    expect(received).toEqual([
      true,
      { text: 'Where', final: false },
      { text: 'Where is it?', final: true, seq: 4 },
      { turn: 1 },
      { message: 'no audio', text: 'Hello' },
      { message: 'not so' },
    ])
    await line.close()
  })
})
