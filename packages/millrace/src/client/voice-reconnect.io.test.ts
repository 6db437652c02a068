import { describe, expect, test } from 'vitest'
import { until } from './follow.test-kit.ts'
import { openLine, rate, sentence, threadAt, turnOf } from './voice-line.test-kit.ts'
import { manualPlayer, voiceServer } from './voice-server.test-kit.ts'

describe('a voice line that is cut off', () => {
  test('resumes after the last complete sentence, and plays it in the meantime', async () => {
    await using server = await voiceServer()
    const { connection, play, hasAudio, line, sentences, states } = await openLine(server)
    connection.send(turnOf(1), sentence(1, 0))
    connection.speak(1, 0, 1000)
    connection.send(sentence(1, 1))
    connection.speak(1, 1000, 300)
    await until(hasAudio)
    play(500)
    await until(() => play(1).position > 500)
    connection.end()
    const next = await server.connection(1)
    expect(next.commands[0]).toMatchObject({ from: { session: 's0', seq: 7, round: 1, chars: 10 } })
    expect(states).toContain('reconnecting')
    // Turn 1 of the first connection is not reported to the new one.
    await until(() => states.at(-1) === 'open')
    expect(play(1000)).toEqual({ clip: 1, position: 1000, idle: true })
    next.send({ type: 'ping' })
    await until(() => next.commands.length === 2)
    expect(next.reports()).toEqual([{ type: 'pong' }])
    next.send(turnOf(1), { ...sentence(1, 1, 0), text: 'Sentence 1 again' })
    next.speak(1, 0, 1000)
    await until(hasAudio)
    play(1000)
    expect(sentences.map(({ text }) => text)).toEqual(['Sentence 0', 'Sentence 1 again'])
    await until(() => next.reports().length === 2)
    expect(next.reports()[1]).toEqual({ type: 'voice_played', turn: 1, position: 1000 })
    await line.close()
  })

  test('repeats an incomplete sentence from its start', async () => {
    await using server = await voiceServer()
    const { connection, play, hasAudio, line } = await openLine(server)
    connection.send(turnOf(1), sentence(1, 0))
    connection.speak(1, 0, 400)
    await until(hasAudio)
    play(100)
    connection.end()
    const next = await server.connection(1)
    expect(next.commands[0]).toMatchObject({ from: { seq: 7, round: 1, chars: 0 } })
    expect(hasAudio()).toBe(false)
    await line.close()
  })

  test('repeats a sentence that was announced after a long pause, but not received', async () => {
    await using server = await voiceServer()
    const { connection, states, line } = await openLine(server)
    await until(() => states.at(-1) === 'open')
    // Longer than the pause that counts as stalled.
    await new Promise((resolve) => setTimeout(resolve, 600))
    connection.send(turnOf(1), sentence(1, 0), { type: 'ping' })
    await until(() => connection.reports().length > 0)
    connection.end()
    const next = await server.connection(1)
    expect(next.commands[0]).toMatchObject({ from: { seq: 7, round: 1, chars: 0 } })
    next.send(turnOf(1), sentence(1, 0), { type: 'ping' })
    await until(() => next.reports().length > 0)
    expect(await line.close()).toMatchObject({ seq: 7, round: 1, chars: 0 })
  })

  test('resumes after a turn that was sent completely', async () => {
    await using server = await voiceServer()
    const { connection, hasAudio, play, line } = await openLine(server)
    connection.send(turnOf(1), sentence(1, 0))
    connection.speak(1, 0, 400)
    connection.send({ type: 'voice_end', turn: 1, samples: 400 })
    await until(hasAudio)
    play(400)
    await until(() => connection.reports().length > 0)
    connection.end()
    const next = await server.connection(1)
    expect(next.commands[0]).toMatchObject({ from: { seq: 7, round: 1, chars: 10 } })
    // Cut off again before anything was spoken.
    next.end(1001)
    const third = await server.connection(2)
    expect(third.commands[0]).toMatchObject({ from: { session: 's1', seq: 7, round: 1, chars: 10 } })
    await line.close()
  })

  test('does not resume an interrupted turn', async () => {
    await using server = await voiceServer()
    const { connection, hasAudio, line } = await openLine(server)
    connection.send(turnOf(1), sentence(1, 0))
    connection.speak(1, 0, 400)
    await until(hasAudio)
    line.interrupt()
    await until(() => connection.reports().length > 0)
    connection.end()
    expect((await server.connection(1)).commands[0]).not.toHaveProperty('from')
    await line.close()
  })

  test('resumes from the head of the log if nothing was spoken yet', async () => {
    await using server = await voiceServer()
    const { connection, line, states } = await openLine(server)
    await until(() => states.includes('open'))
    connection.end()
    const start = { seq: 1, round: 1, chars: 0 }
    expect((await server.connection(1)).commands[0]).toMatchObject({ from: { ...start, session: 's0' } })
    await line.close()
  })

  test('starts at the position in its options', async () => {
    await using server = await voiceServer()
    const from = { seq: 3, round: 2, chars: 5 }
    const { connection, line } = await openLine(server, { from })
    expect(connection.commands[0]).toMatchObject({ from })
    connection.send(turnOf(1, 3))
    connection.send({ type: 'voice_speech', speaking: true })
    connection.end(1001)
    expect((await server.connection(1)).commands[0]).toMatchObject({ from: { ...from, session: 's0' } })
    await line.close()
  })

  test('ends when the thread was deleted', async () => {
    await using server = await voiceServer()
    const { connection, line, log, states } = await openLine(server)
    await until(() => states.includes('open'))
    connection.end(4404)
    await line.ended
    expect(log).toEqual(['open', 'close'])
  })

  test('reconnects if the server is silent', async () => {
    await using server = await voiceServer({ answer: (command) => ({ ...command, session: 's' }) })
    const { player } = manualPlayer()
    const line = threadAt(server, { silenceMs: 500 }).voice({ player, sampleRate: rate })
    const connection = await server.connection(0)
    await server.connection(1)
    expect(connection.commands.map(({ type }) => type as string)).toContain('ping')
    await line.close()
  })
})
