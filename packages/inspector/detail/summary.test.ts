import type { Entry } from 'millrace/client'
import { expect, it } from 'vitest'
import { summaryOf } from './summary.ts'

type Event = Entry['event']

it.each<[Event, string]>([
  [{ type: 'text', text: 'One\ntwo\u001b[1m' }, 'One⏎two\\u001b[1m'],
  [{ type: 'tool-call', callId: 'c1', name: 'look', input: { id: 4 } }, 'look {id: 4} c1'],
  [
    { type: 'tool-call', callId: 'c1', name: 'look', input: {}, problem: 'not valid JSON', raw: '{' },
    'look not valid JSON {} c1',
  ],
  [
    { type: 'tool-progress', callId: 'c1', event: { type: 'round-start', round: 2, model: 'm' } },
    'round-start: round 2 m c1',
  ],
  [
    {
      type: 'tool-result',
      callId: 'c1',
      name: 'look',
      output: [{ type: 'json', value: { ok: true } }],
      status: 'ok',
      isError: false,
      ms: 12,
      overlapMs: 0,
    },
    'look ok 12 ms {ok: true} c1',
  ],
  [{ type: 'playback', run: 'run_1', round: 2, chars: 40 }, 'round 2 chars 40'],
  [{ type: 'approval', callId: 'c1', approved: false, reason: 'too much' }, 'not approved too much c1'],
  [
    {
      type: 'input',
      mode: 'steer',
      message: {
        role: 'user',
        content: [
          { type: 'text', text: 'This one:' },
          { type: 'image', url: 'https://x/y.png' },
        ],
      },
    },
    'steer This one: [image]',
  ],
  [
    {
      type: 'round-retry',
      round: 1,
      attempt: 2,
      model: 'm',
      delayMs: 5,
      error: { code: 'overloaded', message: 'Too many', retryable: true },
    } as Event,
    'round 1 m attempt 2 overloaded Too many',
  ],
  [{ type: 'handover', to: 'another' } as unknown as Event, '{type: "handover", to: "another"}'],
])('summarizes an event: %j', (event, line) => {
  expect(summaryOf(event)).toBe(line)
})

it('a summary is short, even if the event is long', () => {
  const text = 'x'.repeat(1_000_000)
  expect(summaryOf({ type: 'text', text }).length).toBeLessThan(200)
  expect(summaryOf({ type: 'tool-input', callId: 'c1', delta: text }).length).toBeLessThan(200)
})
