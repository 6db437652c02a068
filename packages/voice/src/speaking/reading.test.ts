import fc from 'fast-check'
import type { Entry, ThreadEvent } from 'millrace'
import { noUsage } from 'millrace'
import { describe, expect, test } from 'vitest'
import type { RunStartEvent, VoicePosition } from '../../../millrace/src/protocol/index.ts'
import type { ReadingStep, SpokenRun } from './reading.ts'
import { reading, startOfRun } from './reading.ts'

const start = (runId: string, more: Partial<RunStartEvent> = {}): ThreadEvent => {
  return { type: 'run-start', version: 2, runId, agent: 'a', input: [], inputs: [1], ...more }
}
const round = (number: number, inputs?: number[]): ThreadEvent => {
  return { type: 'round-start', round: number, model: 'm', ...(inputs && { inputs }) }
}
const text = (text: string): ThreadEvent => ({ type: 'text', text })
const roundEnd = (round: number): ThreadEvent => ({ type: 'round-end', round, model: 'm', finish: 'stop' })
const end = (outcome: 'completed' | 'suspended' = 'completed'): ThreadEvent => {
  return { type: 'run-end', outcome, usage: noUsage }
}
const call = { callId: 'c', name: 'look' }
const callEvents: ThreadEvent[] = [
  { type: 'tool-input-start', ...call },
  { type: 'tool-call', ...call, input: {} },
  { type: 'tool-start', ...call, attempt: 1 },
]
const result: ThreadEvent = {
  type: 'tool-result',
  ...call,
  output: [],
  status: 'ok',
  isError: false,
  ms: 1,
  overlapMs: 0,
}
const retract: ThreadEvent = { type: 'round-retract', round: 1, reason: 'broke off' }

const numbered = (events: readonly ThreadEvent[]): Entry[] =>
  events.map((event, index) => ({ seq: index + 1, at: 0, event }))

interface Where {
  readonly shownUpTo?: number
  readonly from?: VoicePosition
}

function read(entries: readonly Entry[], { shownUpTo = 0, from }: Where = {}): ReadingStep[] {
  const log = reading({ sentenceOptions: {}, shownUpTo, from })
  return entries.flatMap((entry) => log.take(entry, entry.seq))
}

/** In the form `run round start: speech`. */
function said(steps: readonly ReadingStep[]): string[] {
  let run = ''
  return steps.flatMap((step) => {
    if (step.type === 'run') run = step.run.id
    if (step.type !== 'utterance') return []
    const { textPosition, sentence } = step.utterance
    return [`${run} ${textPosition?.round} ${textPosition?.start}: ${sentence.speech}`]
  })
}

describe('reading a log', () => {
  test('yields utterances with their positions, each as soon as it is complete', () => {
    const events = [
      start('r'),
      round(1),
      text('Hello. Let me look'),
      ...callEvents,
      roundEnd(1),
      result,
      round(2),
      text('Found. It is here'),
      roundEnd(2),
      end(),
    ]
    const log = reading({ sentenceOptions: {}, shownUpTo: 0 })
    const steps = numbered(events).map((entry) => {
      const found = log.take(entry, 0)
      return [entry.event.type, ...said(found), ...found.map(({ type }) => type)]
    })
    expect(steps).toEqual([
      ['run-start', 'run'],
      ['round-start'],
      ['text', ' 1 0: Hello.', 'utterance'],
      ['tool-input-start', ' 1 7: Let me look', 'utterance'],
      ['tool-call'],
      ['tool-start', 'calls'],
      ['round-end', 'round-end'],
      ['tool-result', 'calls'],
      ['round-start'],
      ['text', ' 2 0: Found.', 'utterance'],
      ['round-end', ' 2 7: It is here', 'utterance', 'round-end'],
      ['run-end', 'run-end'],
    ])
  })

  test('records what an utterance had to wait for', () => {
    const steps = read(
      numbered([start('r'), round(1), ...callEvents, result, round(2), text('Found. Here it is. ')]),
    )
    const waits = steps.flatMap((step) => (step.type === 'utterance' ? [step.utterance.waitedFor] : []))
    expect(waits).toEqual(['tool', 'model'])
    expect(steps.filter(({ type }) => type === 'calls')).toEqual([
      { type: 'calls', running: 1, name: 'look' },
      { type: 'calls', running: 0, name: 'look' },
    ])
  })

  test('starts a retracted round over', () => {
    const events = [start('r'), round(1), text('Wrong. Wro'), retract, text('Right. Ri'), roundEnd(1)]
    const steps = read(numbered(events), { shownUpTo: 3 })
    expect(said(steps)).toEqual(['r 1 0: Right.', 'r 1 7: Ri'])
    expect(steps[0]).toMatchObject({ run: { known: { round: 1, chars: 0 }, rounds: new Map([[1, 9]]) } })
    expect(steps).toContainEqual({ type: 'retract', round: 1 })
  })

  test('skips displayed text, except for a sentence that continues', () => {
    const steps = read(numbered([start('r'), round(1), text('Old. Ne'), text('w. Last.'), roundEnd(1)]), {
      shownUpTo: 3,
    })
    expect(said(steps)).toEqual(['r 1 5: New.', 'r 1 10: Last.'])
    expect(steps[0]).toMatchObject({ run: { known: { round: 1, chars: 5 }, isResumed: false } })
  })

  test('treats a run that resumes after an approval as the same run', () => {
    const events = [
      start('r'),
      round(1),
      text('Asking.'),
      roundEnd(1),
      end('suspended'),
      start('r2', { resumes: 'r' }),
      round(2),
      text('Done.'),
      roundEnd(2),
    ]
    const steps = read(numbered(events))
    expect(said(steps)).toEqual(['r 1 0: Asking.', 'r 2 0: Done.'])
    const sizes = new Map([
      [1, 7],
      [2, 5],
    ])
    expect(steps[0]).toMatchObject({ run: { id: 'r', isOpen: true, rounds: sizes, firstTextAt: 3 } })
  })

  test('reports an interrupting input and a stop at once, and other inputs when a round answers them', () => {
    const input = (mode: 'interrupt' | 'steer'): ThreadEvent => {
      return { type: 'input', mode, message: { role: 'user', content: 'x' } }
    }
    const events = [
      start('r'),
      input('steer'),
      round(1, [2]),
      input('interrupt'),
      { type: 'stop', reason: 'x' } as const,
    ]
    expect(read(numbered(events)).slice(1)).toEqual([
      { type: 'inputs', round: 1 },
      { type: 'interrupt' },
      { type: 'interrupt' },
    ])
  })
})

/** A log of several runs with single-character deltas. */
const someLog = fc
  .array(
    fc.array(
      fc.record({
        words: fc.string({ unit: fc.constantFrom('a', 'B', '. ', '? ', ' ', '\n', ', ', '`', '1', '。') }),
        ends: fc.constantFrom('round', 'call', 'retract', 'part'),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    { minLength: 1, maxLength: 3 },
  )
  .map((runs) =>
    numbered(
      runs.flatMap((rounds, run) => [
        start(`r${run}`),
        ...rounds.flatMap(({ words, ends }, index): ThreadEvent[] => {
          const deltas = [...words].map(text)
          const again = { ...retract, round: index + 1 } as ThreadEvent
          const opened = [round(index + 1), ...deltas]
          const closed = [roundEnd(index + 1)]
          if (ends === 'call') return [...opened, ...callEvents, ...closed, result]
          if (ends === 'retract') return [...opened, again, ...deltas, ...closed]
          if (ends === 'part') return [...opened, { type: 'part-end', part: 'text' }, ...deltas, ...closed]
          return [...opened, ...closed]
        }),
        end(),
      ]),
    ),
  )

/** The same log, with some deltas joined. */
function joined(entries: readonly Entry[], joins: readonly boolean[]): Entry[] {
  const found: Entry[] = []
  for (const [index, entry] of entries.entries()) {
    const last = found.at(-1)
    if (joins[index % joins.length] && last?.event.type === 'text' && entry.event.type === 'text') {
      const whole = last.event.text + entry.event.text
      found[found.length - 1] = { ...entry, from: last.from ?? last.seq, event: text(whole) }
    } else found.push(entry)
  }
  return found
}

const withoutTimes = (steps: readonly ReadingStep[]) =>
  steps.map((step) =>
    step.type === 'run' ? { ...step, run: { ...step.run, startedAt: 0, firstTextAt: 0 } } : step,
  )

describe('for every log', () => {
  test('joining deltas does not change the utterances and their positions', () => {
    fc.assert(
      fc.property(someLog, fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }), (entries, joins) => {
        const whole = withoutTimes(read(entries))
        expect(withoutTimes(read(joined(entries, joins)))).toEqual(whole)
        expect(withoutTimes(read(joined(entries, [true])))).toEqual(whole)
      }),
    )
  })

  test('the utterances of a round add up to its text', () => {
    fc.assert(
      fc.property(someLog, (entries) => {
        const runs: { readonly run: SpokenRun; readonly ends: Map<number, number> }[] = []
        for (const step of read(entries)) {
          if (step.type === 'run') runs.push({ run: step.run, ends: new Map() })
          const ends = runs.at(-1)?.ends
          if (step.type === 'retract') ends?.delete(step.round)
          if (step.type !== 'utterance' || !step.utterance.textPosition) continue
          const { textPosition, sentence } = step.utterance
          expect(textPosition.start).toBe(ends?.get(textPosition.round) ?? 0)
          ends?.set(textPosition.round, textPosition.start + sentence.source.length)
        }
        for (const { run, ends } of runs)
          for (const [round, length] of run.rounds) expect(ends.get(round) ?? 0).toBe(length)
      }),
    )
  })

  test('a client that reconnects after any utterance gets exactly the following ones', () => {
    fc.assert(
      fc.property(
        someLog.map((entries) => entries.filter(({ event }) => event.type !== 'round-retract')),
        fc.nat(),
        (unnumbered, pick) => {
          const entries = numbered(unnumbered.map(({ event }) => event))
          const steps = read(entries)
          const all = said(steps)
          if (all.length === 0) return
          const at = pick % all.length
          let seq = 0
          const ends = steps.flatMap((step) => {
            if (step.type === 'run') seq = step.run.seq
            if (step.type !== 'utterance') return []
            const { textPosition = { round: 0, start: 0 }, sentence } = step.utterance
            return [{ seq, round: textPosition.round, chars: textPosition.start + sentence.source.length }]
          })
          const from = ends[at] as VoicePosition
          const rest = read(entries.slice(from.seq - 1), { shownUpTo: from.seq, from })
          expect(said(rest)).toEqual(all.slice(at + 1))
        },
      ),
    )
  })
})

describe('the start of the open run', () => {
  const runs = numbered([
    start('r0'),
    end(),
    start('r1'),
    round(1),
    end('suspended'),
    start('r1b', { resumes: 'r1' }),
    round(2),
    end(),
    text('behind it'),
  ])

  /** Counts the entries read. */
  function threadOf(entries: readonly Entry[]) {
    const thread = {
      id: 't',
      entries: 0,
      async read({ after = 0, limit = 1000 } = {}) {
        const page = entries.slice(after, after + limit)
        thread.entries += page.length
        return page
      },
    }
    return thread
  }

  test.each([
    [0, 0],
    [1, 0],
    [2, 2],
    [3, 2],
    [5, 2],
    [7, 2],
    [8, 8],
    [9, 8],
  ])('at %i is after %i', async (upTo, after) => {
    expect(await startOfRun(threadOf(runs), upTo)).toBe(after)
  })

  test('is found by reading back only as far as the run', async () => {
    const past = Array.from({ length: 1000 }, (_, run) => [
      start(`r${run}`),
      round(1),
      text('x'),
      roundEnd(1),
      end(),
    ]).flat()
    const thread = threadOf(numbered([...past, start('last'), round(1), text('x')]))
    expect(await startOfRun(thread, 5003)).toBe(5000)
    expect(thread.entries).toBeLessThanOrEqual(200)
  })
})
