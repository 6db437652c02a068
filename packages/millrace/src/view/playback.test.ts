import { expect, test } from 'vitest'
import { ends, input, logOf, round, roundEnds, starts, text } from './fold.test-kit.ts'
import { applyEntry } from './fold.ts'
import type { LogView } from './types.ts'

test('an input is shown as interrupting only if there was something to interrupt', () => {
  const modes = (log: LogView) =>
    [...log.rows, ...log.waiting].flatMap((row) => (row.kind === 'input' ? row.mode : []))
  const first = [input('spoken', 'interrupt'), starts({ inputs: [1] })]
  expect(modes(logOf(...first, ends(), input('again', 'interrupt')))).toEqual(['queue', 'queue'])
  expect(modes(logOf(...first, input('wait', 'interrupt')))).toEqual(['queue', 'interrupt'])
  expect(modes(logOf(...first, ends('suspended'), input('wait', 'interrupt')))).toEqual([
    'queue',
    'interrupt',
  ])
})

test('text rows know how much of them was played, and the last report counts', () => {
  const log = logOf(
    input('Hello'),
    starts({ inputs: [1] }),
    round(1),
    text('Half an'),
    { type: 'round-retract', round: 1, reason: 'the stream broke' },
    round(1),
    text('One. '),
    { type: 'reasoning', text: 'Hm.' },
    text('Two. Three.'),
    roundEnds(1),
    ends(),
  )
  const played = () => log.rows.flatMap((row) => (row.kind === 'text' ? [row.played] : []))
  const versions = () => log.rows.map(({ version }) => version)
  expect(played()).toEqual([undefined, undefined])
  const before = versions()
  applyEntry(log, { seq: 12, at: 2000, event: { type: 'playback', run: 'run_1', round: 1, chars: 9 } })
  expect(played()).toEqual([undefined, 4])
  expect(versions()).not.toEqual(before)
  applyEntry(log, { seq: 13, at: 2001, event: { type: 'playback', run: 'run_1', round: 1, chars: 2 } })
  expect(played()).toEqual([2, 0])
  applyEntry(log, { seq: 14, at: 2002, event: { type: 'playback', run: 'run_1', round: 1, chars: 16 } })
  expect(played()).toEqual([undefined, undefined])
  applyEntry(log, { seq: 15, at: 2003, event: { type: 'playback', run: 'another', round: 1, chars: 0 } })
  expect(played()).toEqual([undefined, undefined])
})

test('a run has what each user last said about it, until it is withdrawn', () => {
  const log = logOf(input('Hello'), starts({ inputs: [1] }), round(1), text('Hi'), roundEnds(1), ends())
  const said = () =>
    Object.fromEntries([...(log.runs[0]?.feedback ?? [])].map(([user, { note }]) => [user, note]))
  const say = (seq: number, more: object) =>
    applyEntry(log, { seq, at: seq, event: { type: 'feedback', run: 'run_1', ...more } })
  const before = log.rows.at(-1)?.version
  say(7, { rating: 'down', note: 'Wrong.', user: 'ann' })
  expect(log.rows.at(-1)?.version).not.toBe(before)
  say(8, { rating: 'up', note: 'Fine.' })
  say(9, { rating: 'up', note: 'Better.', user: 'ann' })
  say(10, { run: 'another', note: 'Lost.' })
  expect(said()).toEqual({ ann: 'Better.', '': 'Fine.' })
  say(11, { user: 'ann' })
  expect(said()).toEqual({ '': 'Fine.' })
  expect(log.rows).toHaveLength(3)
})

test('a thread has the title that a user gave it', () => {
  const log = logOf(input('Hello'))
  expect(log.title).toBeUndefined()
  applyEntry(log, { seq: 2, at: 2, event: { type: 'title', title: 'Greetings' } })
  expect([log.title, log.waiting.length]).toEqual(['Greetings', 1])
})
