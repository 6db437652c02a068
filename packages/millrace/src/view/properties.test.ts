import fc from 'fast-check'
import { expect, test } from 'vitest'
import { joinEntries } from '../log/entries.ts'
import { logOf, randomSteps } from '../log/random-log.test-kit.ts'
import type { Entry, RunEvent, ThreadEvent } from '../protocol/index.ts'
import { noUsage, textOfDelta } from '../protocol/index.ts'
import { applyEntry, createView } from './fold.ts'
import { roundText } from './result.ts'
import type { LogView, TextView } from './types.ts'

const callId = fc.constantFrom('c1', 'c2', 'c3', 'c1/c7')
const name = 'look'
const round = fc.nat(3)
const text = fc.string({ minLength: 1, maxLength: 6 })
const input = { id: 1 }
const error = { op: 'model', code: 'overloaded', message: 'busy', retryable: true } as const
const message = { role: 'user', content: 'Hello' } as const
const outcome = fc.constantFrom('completed', 'suspended', 'canceled' as const)
const status = fc.constantFrom('ok', 'failed', 'canceled' as const)
const inputs = fc.array(fc.nat(20), { maxLength: 3 })

/** Events of every kind in any order: the fold must accept any log. */
const runEvent = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constantFrom('text', 'reasoning' as const), text }) },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('tool-input' as const), callId, delta: text }) },
  { weight: 2, arbitrary: round.map((round) => ({ type: 'round-start', round, model: 'm' }) as const) },
  fc.constantFrom('run_1', undefined).map((resumes) => ({
    type: 'run-start' as const,
    version: 1,
    runId: 'run_1',
    agent: 'a',
    input: [],
    ...(resumes && { resumes }),
  })),
  inputs.map((inputs) => ({ type: 'round-start', round: 1, model: 'm', inputs }) as const),
  fc.constant({ type: 'part-end', part: 'text' } as const),
  round.map((round) => ({ type: 'round-retract', round, reason: 'it broke' }) as const),
  round.map((round) => ({ type: 'round-retry', round, attempt: 2, model: 'n', delayMs: 5, error }) as const),
  round.map((round) => ({ type: 'round-end', round, model: 'm', finish: 'stop' }) as const),
  outcome.map((outcome) => ({ type: 'run-end', outcome, usage: noUsage }) as const),
  callId.map((callId) => ({ type: 'tool-input-start', callId, name }) as const),
  callId.map((callId) => ({ type: 'tool-call', callId, name, input }) as const),
  callId.map((callId) => ({ type: 'tool-start', callId, name, attempt: 1 }) as const),
  callId.map((callId) => ({ type: 'tool-progress', callId, data: { output: 'half' } }) as const),
  callId.map((callId) => ({ type: 'approval-request', callId, name, input }) as const),
  callId.map((callId) => ({ type: 'approval', callId, approved: true }) as const),
  callId.map((callId) => ({ type: 'provider-tool', callId, name, output: 1 }) as const),
  fc.record({ callId, status }).map(
    ({ callId, status }) =>
      ({
        ...({ type: 'tool-result', callId, name, output: [], status } as const),
        ...{ isError: status !== 'ok', ms: 5, overlapMs: 0 },
      }) as const,
  ),
  fc.constant({ type: 'summary', replaces: 2, message } as const),
) satisfies fc.Arbitrary<RunEvent>

const event: fc.Arbitrary<ThreadEvent> = fc.oneof(
  { weight: 20, arbitrary: runEvent },
  {
    weight: 3,
    arbitrary: runEvent.map((event) => ({ type: 'tool-progress', callId: 'c1', event }) as const),
  },
  fc
    .constantFrom('queue', 'steer', 'correct' as const)
    .map((mode) => ({ type: 'input', message, mode }) as const),
  fc.constant({ type: 'stop', reason: 'enough' } as const),
  fc.nat(60).map((before) => ({ type: 'rewind', before, keep: 0 }) as const),
  round.map((chars) => ({ type: 'playback', run: 'run_1', round: 1, chars }) as const),
  fc.constant({ type: 'feedback', run: 'run_1', rating: 'up' } as const),
  fc.constant({ type: 'title', title: 'Orders' } as const),
  round.map((step) => ({ type: 'metadata', patch: { step, done: null } }) as const),
)

/** With every delta split into single characters, as it may have been written. */
const log = fc
  .array(event, { maxLength: 80, size: 'max' })
  .map((events): Entry[] =>
    events.flatMap(split).map((event, index) => ({ seq: index + 1, at: 1000 + index, event })),
  )

function split(event: ThreadEvent): ThreadEvent[] {
  if (event.type === 'text' || event.type === 'reasoning')
    return Array.from(event.text, (text) => ({ ...event, text }))
  if (event.type === 'tool-input') return Array.from(event.delta, (delta) => ({ ...event, delta }))
  if (event.type !== 'tool-progress' || textOfDelta(event) === undefined) return [event]
  return split(event.event as RunEvent).map((inside) => ({ ...event, event: inside as RunEvent }))
}

function fold(entries: readonly Entry[], view = createView()): LogView {
  for (const entry of entries) applyEntry(view, entry)
  return view
}

const times = ['at', 'createdAt', 'closedAt', 'startedAt', 'endedAt', 'firstAt', 'lastAt', 'decidedAt']

/** A view as text, without times, versions and the boundaries of deltas. */
function serialized(view: LogView) {
  const seen = new Map<object, number>()
  return JSON.stringify(view, (key, value: unknown) => {
    if (times.includes(key) || key === 'version' || key === 'last') return undefined
    if (key === 'pieces') return (value as string[]).join('')
    if (value instanceof Map) return [...value]
    if (typeof value !== 'object' || value === null) return value
    const number = seen.get(value)
    seen.set(value, number ?? seen.size)
    return number === undefined ? value : `the same as ${number}`
  })
}

test('the view is the same however deltas are split or joined, and wherever a follower reconnects', () => {
  fc.assert(
    fc.property(log, fc.array(fc.nat(200)), (entries, cuts) => {
      const places = [0, ...cuts.toSorted((a, b) => a - b), entries.length]
      const view = createView()
      for (const [index, place] of places.entries())
        fold(joinEntries(entries.slice(place, places[index + 1] ?? place)), view)
      expect(serialized(view)).toBe(serialized(fold(entries)))
    }),
  )
})

test('the changes add up to the view', () => {
  fc.assert(
    fc.property(log, (entries) => {
      const view = createView()
      const grown = new Map<object, string>()
      const closed = new Set<TextView>()
      const states = new Map<string, string>()
      for (const entry of joinEntries(entries)) {
        const change = applyEntry(view, entry)
        const { text, call, delta, state } = change
        const growing = text?.text ?? call?.raw
        if (growing && delta) grown.set(growing, (grown.get(growing) ?? '') + delta)
        if (change.closed) closed.add(change.closed)
        if (call && state) expect(call.state).toBe(state)
        if (call && state) states.set(call.key, state)
      }
      for (const { rounds } of view.runs)
        for (const part of rounds.flatMap(({ parts }) => parts)) {
          const growing = part.kind === 'call' ? part.raw : part.text
          expect(grown.get(growing) ?? '').toBe(growing.pieces.join(''))
          if (part.kind === 'call')
            expect(part.endedAt !== undefined || states.get(part.key) === part.state).toBe(true)
          else expect(closed.has(part)).toBe(part.text.closed)
        }
    }),
  )
})

test('a view that keeps only the current round agrees with a full view on that round', () => {
  fc.assert(
    fc.property(randomSteps.map(logOf), (entries) => {
      const [all, short] = [fold(entries), fold(entries, createView({ keep: 'round' }))]
      const last = ({ runs }: LogView) => {
        const round = runs.at(-1)?.rounds.at(-1)
        return [
          runs.at(-1)?.outcome,
          round?.number,
          round && roundText(round),
          round?.calls.map(({ state }) => state),
        ]
      }
      expect(last(short)).toEqual(last(all))
      expect(short.runs.length).toBeLessThanOrEqual(1)
      expect(short.waiting).toHaveLength(all.waiting.length)
    }),
  )
})
