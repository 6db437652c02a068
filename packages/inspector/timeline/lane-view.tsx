import type { ButtonHTMLAttributes } from 'preact'
import type { Lane } from './chart.ts'
import { labelsOf } from './labels.ts'
import type { Shape } from './shapes.ts'
import { gutter } from './use-view.ts'

/** The approximate width of a letter, with some space. */
const letter = 9
const markSymbols = { first: '▼', input: '“', report: '|', broken: '×' }

export interface LaneViewProps {
  readonly lane: Lane
  readonly index: number
  readonly top: number
  readonly shapes: readonly Shape[]
  readonly xOf: (at: number) => number
  readonly isSeen: (x: number) => boolean
  /** When the run started. */
  readonly start: number
  /** Event handlers and tab index of a bar. */
  readonly barProps: (shape: Shape, lane: number) => ButtonHTMLAttributes
}

export function LaneView({ lane, index, top, shapes, xOf, isSeen, start, barProps }: LaneViewProps) {
  const { name, isRound, retracted } = lane
  // Marks at the same position are merged, so that their number is bounded by the width.
  const marks = new Map(lane.marks.map((mark) => [`${mark.kind} ${Math.round(xOf(mark.start) / 2)}`, mark]))
  return (
    <div class="timeline-lane" style={{ top: `${top}px` }}>
      <div class="timeline-name" data-round={isRound} data-retracted={retracted} title={name}>
        {name}
      </div>
      {shapes.map((shape) => {
        const { bar, x, width } = shape
        const { label, took } = labelsOf(bar, start)
        return (
          <button
            key={bar.key}
            type="button"
            class="timeline-bar"
            data-phase={bar.kind}
            data-bad={bar.bad}
            aria-label={label}
            style={{ left: `${gutter + x}px`, width: `${width}px` }}
            {...barProps(shape, index)}
          >
            {width > (took.length + 2) * letter && !bar.bad && <span>{took}</span>}
          </button>
        )
      })}
      {[...marks]
        .filter(([, mark]) => isSeen(xOf(mark.start)))
        .map(([key, { kind, start }]) => (
          <span
            key={key}
            class="timeline-mark"
            data-kind={kind}
            style={{ left: `${gutter + xOf(start)}px` }}
            aria-hidden="true"
          >
            {markSymbols[kind]}
          </span>
        ))}
    </div>
  )
}
