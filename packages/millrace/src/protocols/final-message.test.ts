import { expect, test } from 'vitest'
import type { Entry, ThreadEvent } from '../protocol/index.ts'
import { noUsage } from '../protocol/index.ts'
import { finalMessages, finalMessagesAfter } from './final-message.ts'

const start = (runId: string, resumes?: string): ThreadEvent => ({
  type: 'run-start',
  version: 1,
  runId,
  agent: 'a',
  input: [],
  ...(resumes && { resumes }),
})
const round: ThreadEvent = { type: 'round-start', round: 1, model: 'm' }
const says = (text: string): ThreadEvent => ({ type: 'text', text })
const end = (outcome: 'completed' | 'suspended' | 'failed'): ThreadEvent => ({
  type: 'run-end',
  outcome,
  usage: noUsage,
})

function messagesOf(events: ThreadEvent[]) {
  const take = finalMessages()
  return events.flatMap((event, index) => take({ seq: index + 1, at: 0, event }) ?? [])
}

test('there is one message at the end of each run, with the text of its last round', () => {
  const events = [start('r1'), round, says('Let me see. '), round, says('It '), says('is.'), end('completed')]
  expect(messagesOf([...events, start('r2'), round, says('Yes.'), end('completed')])).toEqual([
    { type: 'message', seq: 7, runId: 'r1', outcome: 'completed', text: 'It is.' },
    { type: 'message', seq: 11, runId: 'r2', outcome: 'completed', text: 'Yes.' },
  ])
})

test('retracted text is left out', () => {
  const retract: ThreadEvent = { type: 'round-retract', round: 1, reason: 'it broke' }
  expect(
    messagesOf([start('r1'), round, says('Wro'), retract, says('Right.'), end('completed')]),
  ).toMatchObject([{ text: 'Right.' }])
})

test('a resumed run keeps its text, and a failed run has an error', () => {
  const error = { op: 'model.stream', code: 'llm_error', message: 'no', retryable: false } as const
  expect(
    messagesOf([
      start('r1'),
      round,
      says('May I?'),
      end('suspended'),
      start('r2', 'r1'),
      { ...end('failed'), error } as ThreadEvent,
      start('r3'),
      end('failed'),
    ]),
  ).toEqual([
    { type: 'message', seq: 4, runId: 'r1', outcome: 'suspended', text: 'May I?' },
    { type: 'message', seq: 6, runId: 'r2', outcome: 'failed', text: 'May I?', error },
    { type: 'message', seq: 8, runId: 'r3', outcome: 'failed', text: '' },
  ])
})

test('a client that joins during a run gets all of its last round, and only the end of the log is read', async () => {
  const before = Array.from({ length: 500 }, () => [
    start('r0'),
    round,
    says('Old.'),
    end('completed'),
  ]).flat()
  const events = [
    ...before,
    start('r1'),
    round,
    says('May '),
    says('I?'),
    end('suspended'),
    start('r2', 'r1'),
  ]
  const log: Entry[] = [...events, end('failed')].map((event, index) => ({ seq: index + 1, at: 0, event }))
  const read: number[] = []
  const thread = {
    id: 't',
    read: async ({ after = 0, limit = 1 } = {}) => {
      read.push(after)
      return log.slice(after, after + limit)
    },
  }
  for (const missing of [1, 2, 3, 4]) {
    const take = await finalMessagesAfter(thread, log.length - missing)
    const messages = log.slice(-missing).flatMap((entry) => take(entry) ?? [])
    expect(messages.at(-1)).toMatchObject({ runId: 'r2', outcome: 'failed', text: 'May I?' })
  }
  expect(Math.min(...read)).toBeGreaterThan(log.length - 500)
})
