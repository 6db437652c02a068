import { describe, expect, test } from 'vitest'
import { until } from './follow.test-kit.ts'
import { rate, sentence, speaking, threadAt, turnOf } from './voice-line.test-kit.ts'
import { ownedPlayer, voiceServer } from './voice-server.test-kit.ts'

describe('a voice line that is cut off', () => {
  test('goes on behind what was received whole, and plays that out meanwhile', async () => {
    await using server = await voiceServer()
    const { visit, play, hasAudio, line, sentences, states } = await speaking(server)
    visit.tell(turnOf(1), sentence(1, 0))
    visit.speak(1, 0, 1000)
    visit.tell(sentence(1, 1))
    visit.speak(1, 1000, 300)
    await until(hasAudio)
    play(500)
    await until(() => play(1).position > 500)
    visit.end()
    const next = await server.visit(1)
    expect(next.commands[0]).toMatchObject({ from: { session: 's0', seq: 7, round: 1, chars: 10 } })
    expect(states).toContain('away')
    // The first connection's turn 1 is none of this server's business.
    await until(() => states.at(-1) === 'open')
    expect(play(1000)).toEqual({ clip: 1, position: 1000, idle: true })
    next.tell({ type: 'ping' })
    await until(() => next.commands.length === 2)
    expect(next.reports()).toEqual([{ type: 'pong' }])
    next.tell(turnOf(1), { ...sentence(1, 1, 0), text: 'Sentence 1 again' })
    next.speak(1, 0, 1000)
    await until(hasAudio)
    play(1000)
    expect(sentences.map(({ text }) => text)).toEqual(['Sentence 0', 'Sentence 1 again'])
    await until(() => next.reports().length === 2)
    expect(next.reports()[1]).toEqual({ type: 'voice_played', turn: 1, position: 1000 })
    await line.close()
  })

  test('says again from its beginning the sentence that was broken off', async () => {
    await using server = await voiceServer()
    const { visit, play, hasAudio, line } = await speaking(server)
    visit.tell(turnOf(1), sentence(1, 0))
    visit.speak(1, 0, 400)
    await until(hasAudio)
    play(100)
    visit.end()
    const next = await server.visit(1)
    expect(next.commands[0]).toMatchObject({ from: { seq: 7, round: 1, chars: 0 } })
    expect(hasAudio()).toBe(false)
    await line.close()
  })

  test('has not heard a sentence that was announced after a long silence, and nothing of it came', async () => {
    await using server = await voiceServer()
    const { visit, states, line } = await speaking(server)
    await until(() => states.at(-1) === 'open')
    // Longer than it takes to be taken for a wait between two sentences.
    await new Promise((resolve) => setTimeout(resolve, 600))
    visit.tell(turnOf(1), sentence(1, 0), { type: 'ping' })
    await until(() => visit.reports().length > 0)
    visit.end()
    const next = await server.visit(1)
    expect(next.commands[0]).toMatchObject({ from: { seq: 7, round: 1, chars: 0 } })
    next.tell(turnOf(1), sentence(1, 0), { type: 'ping' })
    await until(() => next.reports().length > 0)
    expect(await line.close()).toMatchObject({ seq: 7, round: 1, chars: 0 })
  })

  test('is at the end of a turn that was sent to its end', async () => {
    await using server = await voiceServer()
    const { visit, hasAudio, play, line } = await speaking(server)
    visit.tell(turnOf(1), sentence(1, 0))
    visit.speak(1, 0, 400)
    visit.tell({ type: 'voice_end', turn: 1, samples: 400 })
    await until(hasAudio)
    play(400)
    await until(() => visit.reports().length > 0)
    visit.end()
    const next = await server.visit(1)
    expect(next.commands[0]).toMatchObject({ from: { seq: 7, round: 1, chars: 10 } })
    // Cut off again before anything was said.
    next.end(1001)
    const third = await server.visit(2)
    expect(third.commands[0]).toMatchObject({ from: { session: 's1', seq: 7, round: 1, chars: 10 } })
    await line.close()
  })

  test('says nothing of a turn that was interrupted', async () => {
    await using server = await voiceServer()
    const { visit, hasAudio, line } = await speaking(server)
    visit.tell(turnOf(1), sentence(1, 0))
    visit.speak(1, 0, 400)
    await until(hasAudio)
    line.interrupt()
    await until(() => visit.reports().length > 0)
    visit.end()
    expect((await server.visit(1)).commands[0]).not.toHaveProperty('from')
    await line.close()
  })

  test('has missed what was written since, if nothing was said yet', async () => {
    await using server = await voiceServer()
    const { visit, line, states } = await speaking(server)
    await until(() => states.includes('open'))
    visit.end()
    const place = { seq: 1, round: 1, chars: 0 }
    expect((await server.visit(1)).commands[0]).toMatchObject({ from: { ...place, session: 's0' } })
    await line.close()
  })

  test('begins where it is told to', async () => {
    await using server = await voiceServer()
    const from = { seq: 3, round: 2, chars: 5 }
    const { visit, line } = await speaking(server, { from })
    expect(visit.commands[0]).toMatchObject({ from })
    visit.tell(turnOf(1, 3))
    visit.tell({ type: 'voice_hearing', speech: true })
    visit.end(1001)
    expect((await server.visit(1)).commands[0]).toMatchObject({ from: { ...from, session: 's0' } })
    await line.close()
  })

  test('is over when the thread is gone', async () => {
    await using server = await voiceServer()
    const { visit, line, log, states } = await speaking(server)
    await until(() => states.includes('open'))
    visit.end(4404)
    await line.ended
    expect(log).toEqual(['open', 'close'])
  })

  test('gives up a server that has gone silent', async () => {
    await using server = await voiceServer({ answer: (wish) => ({ ...wish, session: 's' }) })
    const { player } = ownedPlayer()
    const line = threadAt(server, { silenceMs: 500 }).voice({ player, sampleRate: rate })
    const visit = await server.visit(0)
    await server.visit(1)
    expect(visit.commands.map(({ type }) => type as string)).toContain('ping')
    await line.close()
  })
})
