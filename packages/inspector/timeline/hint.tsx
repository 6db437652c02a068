import { useShortcut } from '../keyboard.ts'
import type { Bar } from './chart.ts'
import { wordsOf } from './words.ts'

export interface HintProps {
  readonly bar: Bar
  /** When the run began. */
  readonly start: number
  readonly left: number
  readonly top: number
  readonly onClose: () => void
}

const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
})

/** The exact times of what is pointed at. Who listens has them in the name of the bar. */
export function Hint({ bar, start, left, top, onClose }: HintProps) {
  // It may lie over what one wants to see, and the pointer need not move away for it (WCAG 1.4.13).
  useShortcut({ keys: 'Escape', does: 'Closes the times of a bar', run: onClose, whileWriting: true })
  const { from, to, took } = wordsOf(bar, start)
  const lines = [
    `${took}${bar.open ? ' so far' : ''}`,
    `+${from} to +${to}`,
    `${clock.format(bar.start)} to ${clock.format(bar.end)}`,
    ...bar.more,
  ]
  return (
    <div
      class="timeline-hint"
      aria-hidden="true"
      style={{ left: `clamp(0px, ${left}px, 100% - 250px)`, top: `${top}px` }}
    >
      <strong>{bar.what}</strong>
      {lines.map((line) => (
        <div key={line}>{line}</div>
      ))}
    </div>
  )
}
