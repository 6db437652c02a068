import { expect, test } from 'vitest'
import { ends, logOf, round, roundEnds, says, starts, text } from './fold.test-kit.ts'
import { take } from './fold.ts'
import type { LogView } from './types.ts'

test('what interrupts is known to have done so only where there was something to interrupt', () => {
  const modes = (log: LogView) =>
    [...log.rows, ...log.waiting].flatMap((row) => (row.kind === 'input' ? row.mode : []))
  const first = [says('spoken', 'interrupt'), starts({ heard: [1] })]
  expect(modes(logOf(...first, ends(), says('again', 'interrupt')))).toEqual(['queue', 'queue'])
  expect(modes(logOf(...first, says('wait', 'interrupt')))).toEqual(['queue', 'interrupt'])
  expect(modes(logOf(...first, ends('suspended'), says('wait', 'interrupt')))).toEqual(['queue', 'interrupt'])
})

test('what was not heard of a spoken answer is known to its texts, and told again the last counts', () => {
  const log = logOf(
    says('Hello'),
    starts({ heard: [1] }),
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
  const heard = () => log.rows.flatMap((row) => (row.kind === 'text' ? [row.heard] : []))
  const versions = () => log.rows.map(({ version }) => version)
  expect(heard()).toEqual([undefined, undefined])
  const before = versions()
  take(log, { seq: 12, at: 2000, event: { type: 'heard', run: 'run_1', round: 1, chars: 9 } })
  expect(heard()).toEqual([undefined, 4])
  expect(versions()).not.toEqual(before)
  take(log, { seq: 13, at: 2001, event: { type: 'heard', run: 'run_1', round: 1, chars: 2 } })
  expect(heard()).toEqual([2, 0])
  take(log, { seq: 14, at: 2002, event: { type: 'heard', run: 'run_1', round: 1, chars: 16 } })
  expect(heard()).toEqual([undefined, undefined])
  take(log, { seq: 15, at: 2003, event: { type: 'heard', run: 'another', round: 1, chars: 0 } })
  expect(heard()).toEqual([undefined, undefined])
})
