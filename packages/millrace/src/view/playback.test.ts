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
