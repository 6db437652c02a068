import type { ReadonlySignal } from '@preact/signals'
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { inspect } from '../state.ts'
import { Band, Bands } from './bands.tsx'
import type { Chart } from './chart.ts'
import { Hint } from './hint.tsx'
import { LaneView } from './lane-view.tsx'
import type { Place } from './rove.ts'
import { placeAfter } from './rove.ts'
import type { Shape } from './shapes.ts'
import { shapesOf } from './shapes.ts'
import { stepsOf } from './steps.ts'
import { ticksOf } from './ticks.ts'
import { usePointer } from './use-pointer.ts'
import { gutter, useView } from './use-view.ts'

export interface WaterfallProps {
  readonly chart: Chart
  /** The current time of a replay. */
  readonly head: ReadonlySignal<number> | undefined
  /** More buttons. */
  readonly children: ComponentChildren
}

const laneHeight = 28
const tickRoom = 76
const buttons = [
  { sign: '+', label: 'Zoom in', factor: 2 },
  { sign: '−', label: 'Zoom out', factor: 0.5 },
  { sign: 'All', label: 'Show all', factor: 0 },
]
const zooms: Readonly<Record<string, number>> = { '+': 2, '=': 2, '-': 0.5, '0': 0 }
const howTo =
  'Arrow keys move between bars, Enter shows details, plus, minus and 0 zoom, Shift with arrow keys pans.'
const pans: Readonly<Record<string, number>> = { ArrowLeft: -0.2, ArrowRight: 0.2 }

/** The lanes of a run over time. Only visible bars are rendered. */
export function Waterfall({ chart, head, children }: WaterfallProps) {
  const { axis, lanes, start } = chart
  const view = useView(axis)
  const { box, left, top, width, height, scale } = view
  const pointer = usePointer(view)
  /** The bar that has or last had the focus. */
  const focused = useSignal<Place>({ lane: 0, key: '' })
  const pointed = useSignal<Place | undefined>(undefined)
  const wantsFocus = useRef(false)

  const xOf = (at: number) => axis.xOf(at) * scale
  const isSeen = (x: number, end = x) => end >= left && x <= left + width
  const ticks = ticksOf(axis, axis.atOf(left / scale), axis.atOf((left + width) / scale), tickRoom / scale)
  const bands = [
    ...stepsOf('tick', undefined, ticks),
    ...chart.bands.filter((band) => isSeen(xOf(band.start), xOf(band.end))),
  ]
  // One row for ticks, one for the length of folds, one for resumes and outages.
  const rulerHeight = chart.bands.length > 0 ? 52 : 20
  // Twice the visible height, so that scrolling shows no blank lanes.
  const isNear = (lane: number) => Math.abs(lane * laneHeight - top - height / 2) < height
  // The focused bar is always rendered, so that the focus is kept and the browser can scroll to it.
  const hasFocus = ({ bars }: Shape) => bars.some(({ key }) => key === focused.value.key)
  const rows = lanes.flatMap((lane, index) =>
    isNear(index) || index === focused.value.lane
      ? {
          lane,
          index,
          shapes: shapesOf(lane.bars, xOf).filter(
            (shape) => isSeen(shape.x, shape.x + shape.width) || hasFocus(shape),
          ),
        }
      : [],
  )
  const shapes = rows.flatMap((row) => row.shapes)
  const reached = shapes.find(hasFocus) ?? shapes[0]
  const hinted = shapes.find(({ bar }) => bar.key === pointed.value?.key)

  useLayoutEffect(() => {
    if (wantsFocus.current) box.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus()
    wantsFocus.current = false
  })

  function barProps(shape: Shape, lane: number) {
    const { bar, x, width } = shape
    const here = { lane, key: bar.key }
    const point = () => {
      pointed.value = here
    }
    const leave = () => {
      pointed.value = undefined
    }
    return {
      tabIndex: shape === reached ? 0 : -1,
      onClick: () => (bar.of ? inspect(bar.of) : view.span(x, x + width)),
      onFocus() {
        focused.value = here
        point()
      },
      onBlur: leave,
      onPointerEnter: point,
      onPointerLeave: leave,
    }
  }

  function onKeyDown(event: KeyboardEvent) {
    const { key } = event
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const isOnBar = event.target !== event.currentTarget
    const factor = zooms[key]
    const pan = event.shiftKey && pans[key]
    const next = isOnBar && placeAfter(key, focused.value, lanes, xOf)
    if (pan) view.move(pan * width)
    else {
      if (factor !== undefined)
        view.zoom(factor, isOnBar && reached ? reached.x + reached.width / 2 - left : undefined)
      else if (next) focused.value = next
      else return
      wantsFocus.current = isOnBar
    }
    event.preventDefault()
  }

  const marked = pointer.marked.value
  const hintTop = rulerHeight + ((pointed.value?.lane ?? 0) + 1) * laneHeight - top
  return (
    <>
      <div class="timeline-row">
        {buttons.map(({ sign, label, factor }) => (
          <button
            key={sign}
            type="button"
            aria-label={label}
            title={label}
            disabled={factor < 1 && view.isWhole}
            onClick={() => view.zoom(factor)}
          >
            {sign}
          </button>
        ))}
        {children}
      </div>
      <div class="timeline-chart">
        <section
          class="timeline-lanes"
          ref={box}
          aria-label="Waterfall"
          aria-description={howTo}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be focusable.
          tabIndex={0}
          onScroll={() => view.move(0)}
          onKeyDown={onKeyDown}
          onDblClick={() => view.zoom(0)}
        >
          <div
            class="timeline-sheet"
            style={{ width: view.sheetWidth, height: `${rulerHeight + lanes.length * laneHeight}px` }}
            {...pointer.handlers}
          >
            <div class="timeline-ruler" style={{ height: `${rulerHeight}px` }} />
            <Bands {...{ bands, xOf }} width={axis.length * scale} />
            {rows.map(({ lane, index, shapes }) => (
              <LaneView
                key={lane.bars[0]?.key}
                top={rulerHeight + index * laneHeight}
                {...{ lane, index, shapes, xOf, isSeen, start, barProps }}
              />
            ))}
            {head && <Playhead {...{ head, xOf }} />}
            {marked && <Band kind="marked" {...marked} />}
          </div>
        </section>
        {hinted && hintTop > rulerHeight && hintTop < height + laneHeight && (
          <Hint
            bar={hinted.bar}
            start={start}
            left={gutter + hinted.x - left}
            top={hintTop}
            onClose={() => (pointed.value = undefined)}
          />
        )}
      </div>
    </>
  )
}

/** A component of its own, so that a replay renders nothing else again. */
function Playhead({ head, xOf }: { head: ReadonlySignal<number>; xOf: (at: number) => number }) {
  return <Band kind="playhead" from={xOf(head.value)} />
}
