import { useShortcut } from '../keyboard.ts'
import type { Bar } from './chart.ts'
import { labelsOf } from './labels.ts'

export interface HintProps {
  readonly bar: Bar
  /** When the run started. */
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

/** A tooltip with exact times. Screen readers get them from the label of the bar. */
export function Hint({ bar, start, left, top, onClose }: HintProps) {
  // A tooltip must be dismissible without moving the pointer (WCAG 1.4.13).
  useShortcut({ keys: 'Escape', label: 'Close the tooltip', run: onClose, whileTyping: true })
  const { from, to, took } = labelsOf(bar, start)
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
