import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Axis } from './axis.ts'
import { clamp } from './spans.ts'

/** The names of the lanes stand here, and stay while the rest is moved. */
export const gutter = 104
/** Browsers cannot scroll much further. */
const widest = 10_000_000

export type View = ReturnType<typeof useView>

/** What is seen of an axis, in a box that is scrolled. All in pixels, counted from where the axis begins. */
export function useView({ length }: Axis) {
  const box = useRef<HTMLElement>(null)
  const seen = useSignal({ left: 0, top: 0, width: 1, height: 1 })
  /** In pixels per millisecond; 0 shows all there is, also while it grows. */
  const zoomed = useSignal(0)
  const { left, top, width, height } = seen.value
  const fit = width / length
  const scale = clamp(zoomed.value, fit, widest / length)
  const sheetWidth = (scale: number) => `${gutter + length * scale}px`

  useLayoutEffect(() => {
    const element = box.current as HTMLElement
    const observer = new ResizeObserver(() => {
      seen.value = seenOf(element)
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [seen])

  function move(right: number) {
    const element = box.current as HTMLElement
    element.scrollBy(right, 0)
    seen.value = seenOf(element)
  }

  /** At another scale, with a place of the axis so many pixels from the left. */
  function look(next: number, x: number, px: number) {
    zoomed.value = next > fit ? Math.min(next, widest / length) : 0
    const element = box.current as HTMLElement
    // Nobody can scroll to what is not there yet.
    const sheet = element.firstElementChild as HTMLElement
    sheet.style.width = sheetWidth(Math.max(fit, zoomed.value))
    move(x * zoomed.value - px - element.scrollLeft)
  }

  return {
    box,
    left,
    top,
    width,
    height,
    scale,
    sheetWidth: sheetWidth(scale),
    isWhole: scale === fit,
    move,
    /** Around a place that stays where it is. */
    zoom: (factor: number, px = width / 2) => look(scale * factor, (left + px) / scale, px),
    /** So that this is all that is seen. */
    span: (from: number, to: number) => look((scale * width) / Math.max(1, to - from), from / scale, 0),
  }
}

function seenOf({ scrollLeft, scrollTop, clientWidth, clientHeight }: HTMLElement) {
  return {
    left: scrollLeft,
    top: scrollTop,
    width: Math.max(1, clientWidth - gutter - 1),
    height: clientHeight,
  }
}
