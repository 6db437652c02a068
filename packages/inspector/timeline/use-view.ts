import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Axis } from './axis.ts'
import { clamp } from './spans.ts'

/** The width of the lane names, which do not scroll. */
export const gutter = 104
/** Browsers cannot scroll much wider elements. */
const maxWidth = 10_000_000

export type View = ReturnType<typeof useView>

/** The visible part of an axis in a scroll box. In pixels from the start of the axis. */
export function useView({ length }: Axis) {
  const box = useRef<HTMLElement>(null)
  const viewport = useSignal({ left: 0, top: 0, width: 1, height: 1 })
  /** In pixels per millisecond; 0 fits everything, also while it grows. */
  const zoomed = useSignal(0)
  const { left, top, width, height } = viewport.value
  const fit = width / length
  const scale = clamp(zoomed.value, fit, maxWidth / length)
  const sheetWidth = (scale: number) => `${gutter + length * scale}px`

  useLayoutEffect(() => {
    const element = box.current as HTMLElement
    const observer = new ResizeObserver(() => {
      viewport.value = viewportOf(element)
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [viewport])

  function move(right: number) {
    const element = box.current as HTMLElement
    element.scrollBy(right, 0)
    viewport.value = viewportOf(element)
  }

  /** Changes the scale, with position `x` of the axis `px` pixels from the left. */
  function zoomTo(next: number, x: number, px: number) {
    zoomed.value = next > fit ? Math.min(next, maxWidth / length) : 0
    const element = box.current as HTMLElement
    // The element must be wide enough before it can be scrolled.
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
    /** Zooms around a position that stays in place. */
    zoom: (factor: number, px = width / 2) => zoomTo(scale * factor, (left + px) / scale, px),
    /** Zooms so that exactly this span is visible. */
    span: (from: number, to: number) => zoomTo((scale * width) / Math.max(1, to - from), from / scale, 0),
  }
}

function viewportOf({ scrollLeft, scrollTop, clientWidth, clientHeight }: HTMLElement) {
  return {
    left: scrollLeft,
    top: scrollTop,
    width: Math.max(1, clientWidth - gutter - 1),
    height: clientHeight,
  }
}
