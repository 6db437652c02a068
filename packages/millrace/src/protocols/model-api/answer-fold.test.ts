import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { sized } from '../../../../../test/size.ts'
import { agent } from '../../agent/index.ts'
import { joinEntries } from '../../log/entries.ts'
import { logOf, randomSteps } from '../../log/random-log.test-kit.ts'
import type { Entry, RunRequest } from '../../protocol/index.ts'
import type { ScriptRound } from '../../testing/index.ts'
import { scriptedModel } from '../../testing/index.ts'
import { startApp, untilIdle } from '../../threads/threads.test-kit.ts'
import { tool } from '../../tools/index.ts'
import { asker, delegator } from '../protocols.test-kit.ts'
import { answerFold } from './answer-fold.ts'
import { recordingWriter } from './recording-writer.test-kit.ts'

function linesOf(entries: readonly Entry[], start: number): string[] {
  const fold = answerFold({ start }, recordingWriter())
  let lines = ''
  for (const entry of entries) lines += fold.entry(entry)
  if (!fold.isDone) lines += fold.end()
  return lines.trimEnd().split('\n')
}

const clock = tool({ name: 'clock', description: 'The time', input: z.object({}), run: () => 'noon' })
const request: RunRequest = {
  tools: [{ name: 'locate', description: 'Where the user is', inputSchema: { type: 'object' } }],
}

function scripted(first: ScriptRound, then: ScriptRound = 'Done.') {
  const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === 'tool' ? then : first))
  return startApp({ agents: agent({ name: 'helper', model, tools: [clock] }) })
}

describe('one response', () => {
  test('has the text and reasoning of its run, and the calls of the server with their results', async () => {
    const thread = scripted([
      { reasoning: 'Hm.' },
      { text: 'Let me see.' },
      { call: 'clock', id: 'call_1', input: {} },
    ]).thread()
    const start = await thread.send('What time is it?')
    const [before, ...lines] = linesOf(await untilIdle(thread), start)
    expect(before).toBe('start')
    expect(lines).toEqual([
      'round',
      'reasoning Hm.',
      '/reasoning',
      'text Let me see.',
      '/text',
      'server call call_1 clock',
      'arguments call_1 {}',
      'complete call_1',
      'result call_1 noon',
      'round',
      'text Done.',
      '/text',
      'end completed',
    ])
  })

  test("ends with the client's calls, and the next one continues after their results", async () => {
    const thread = scripted([
      { call: 'locate', id: 'call_1', input: { precise: true } },
      { call: 'clock', id: 'call_2', input: {} },
    ]).thread()
    const start = await thread.send('Where and when?', { request })
    const first = linesOf(await untilIdle(thread), start)
    expect(first).toContain('client call call_1 locate')
    expect(first).toContain('result call_2 noon')
    expect(first.at(-1)).toBe('end suspended call_1')

    const next = await thread.respond('call_1', 'Bern')
    const entries = await untilIdle(thread)
    expect(linesOf(entries, next)).toEqual(['start', 'round', 'text Done.', '/text', 'end completed'])
    // The first response is the same as before.
    expect(linesOf(entries, start)).toEqual(first)
  })

  test('sends the calls again that still wait, and those that the client does not know', async () => {
    const calls = ['call_1', 'call_2'].map((id) => ({ call: 'locate', id, input: { precise: true } }))
    const thread = scripted([{ text: 'Hm.' }, ...calls]).thread()
    await thread.send('Where?', { request })
    const entries = await untilIdle(thread)
    const next = await thread.respond('call_1', 'Bern')
    expect(linesOf(await untilIdle(thread), next)).toEqual([
      'start',
      'client call call_2 locate',
      'arguments call_2 {"precise":true}',
      'complete call_2',
      'end suspended call_2',
    ])
    // After the text, for a client that was cut off there.
    const text = entries.findLast(({ event }) => event.type === 'text')
    expect(linesOf(entries, text?.seq ?? 0).filter((line) => !line.startsWith('arguments'))).toEqual([
      'start',
      'client call call_1 locate',
      'complete call_1',
      'client call call_2 locate',
      'complete call_2',
      'end suspended call_1 call_2',
    ])
  })

  test('voids a call that waits for approval, and starts it again when it runs', async () => {
    const thread = startApp({ agents: asker() }).thread()
    const start = await thread.send('Cut it.')
    const asked = linesOf(await untilIdle(thread), start)
    expect(asked.slice(-3)).toEqual(['void call_1', 'approve call_1', 'end suspended call_1'])
    const approved = await thread.approve('call_1', { approved: true })
    expect(linesOf(await untilIdle(thread), approved).slice(0, 5)).toEqual([
      'start',
      'server call call_1 cut_rope',
      'arguments call_1 {"where":"here"}',
      'complete call_1',
      'result call_1 cut here',
    ])
  })

  test('shows the result of a call that was denied', async () => {
    const thread = startApp({ agents: asker() }).thread()
    await thread.send('Cut it.')
    await untilIdle(thread)
    const denied = await thread.approve('call_1', { approved: false, reason: 'it is mine' })
    const lines = linesOf(await untilIdle(thread), denied)
    expect(lines[1]).toBe('server call call_1 cut_rope')
    expect(lines[4]).toMatch(/^result call_1 error: .*it is mine/)
  })

  test('has the requests of a sub-agent, under the ids of the inner calls', async () => {
    const thread = startApp({ agents: delegator() }).thread()
    const start = await thread.send('Have it cut.')
    const asked = linesOf(await untilIdle(thread), start)
    expect(asked.slice(-3)).toEqual(['approve call_1/call_1', 'void call_1', 'end suspended call_1/call_1'])
    const approved = await thread.approve('call_1/call_1', { approved: true })
    const lines = linesOf(await untilIdle(thread), approved)
    expect(lines[1]).toBe('server call call_1 asker')
    expect(lines.at(-1)).toBe('end completed')
  })

  test('voids a call of the client that the server answers itself', async () => {
    const thread = scripted([{ call: 'locate', id: 'call_1', raw: '{"precise":' }]).thread()
    const start = await thread.send('Where?', { request })
    const lines = linesOf(await untilIdle(thread), start)
    expect(lines).toContain('void call_1')
    expect(lines.at(-1)).toBe('end completed')
  })

  test('of a message that is stopped before a run reads it ends as canceled', () => {
    const at = 0
    const message = { role: 'user', content: 'Hello?' } as const
    const entries: Entry[] = [
      { seq: 1, at, event: { type: 'input', message, mode: 'queue' } },
      { seq: 2, at, event: { type: 'stop', reason: 'never mind' } },
    ]
    expect(linesOf(entries, 1)).toEqual(['start', 'end canceled'])
  })

  test('after the end of a run is empty', async () => {
    const thread = scripted('Hello.').thread()
    await thread.send('Hi')
    const entries = await untilIdle(thread)
    expect(linesOf(entries, entries.at(-1)?.seq ?? 0)).toEqual(['start', 'end completed'])
  })
})

test('any log is written in a valid order, from any place, however its deltas are joined', () => {
  fc.assert(
    fc.property(randomSteps.map(logOf), (entries) => {
      const starts = ['input', 'approval', 'tool-call', 'tool-result', 'round-end']
      for (const { seq, event } of entries) {
        if (!starts.includes(event.type)) continue
        const lines = linesOf(entries, seq)
        const joined = linesOf(joinEntries(entries), seq)
        expect(contentOf(joined)).toEqual(contentOf(lines))
      }
    }),
    // A shorter log of the same kind would take minutes to find.
    { numRuns: sized(1000), endOnFailure: true },
  )
})

/** Deltas of the same part as one line. */
function contentOf(lines: readonly string[]): string[] {
  const content: string[] = []
  for (const line of lines) {
    const [, kind = ''] = /^(text |reasoning |arguments \S+ )/.exec(line) ?? []
    const last = content.at(-1) ?? ''
    if (kind && last.startsWith(kind)) content[content.length - 1] = last + line.slice(kind.length)
    else content.push(line)
  }
  return content
}
