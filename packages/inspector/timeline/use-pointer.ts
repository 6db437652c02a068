import { useSignal } from '@preact/signals'
import type { View } from './use-view.ts'
import { gutter } from './use-view.ts'

/** Smaller movements are not a drag. */
const dragThresholdPx = 4

/**
 * Dragging the ruler with a mouse pans, dragging over the lanes zooms into a span, and Ctrl with
 * the wheel zooms. Touch and the wheel alone scroll natively.
 */
export function usePointer({ left, zoom, span, move }: View) {
  const marked = useSignal<
    { readonly from: number; readonly to: number; readonly pans: boolean } | undefined
  >(undefined)
  const placeOf = (event: MouseEvent) =>
    event.clientX - (event.currentTarget as Element).getBoundingClientRect().left - gutter
  const end = () => {
    marked.value = undefined
  }
  return {
    marked,
    handlers: {
      onPointerDown(event: PointerEvent) {
        const from = placeOf(event)
        const pans = (event.target as Element).matches('.timeline-ruler')
        if (event.button === 0 && event.pointerType !== 'touch') marked.value = { from, to: from, pans }
      },
      onPointerMove(event: PointerEvent) {
        if (!marked.value) return
        const { from, pans } = marked.value
        const to = placeOf(event)
        if (Math.abs(to - from) < dragThresholdPx)
          return // Not captured before, so that a click reaches its bar.
        ;(event.currentTarget as Element).setPointerCapture(event.pointerId)
        if (pans) move(from - to)
        else marked.value = { from, to, pans }
      },
      onPointerUp() {
        const { from = 0, to = 0 } = marked.value ?? {}
        end()
        if (from !== to) span(Math.min(from, to), Math.max(from, to))
      },
      onPointerCancel: end,
      onWheel(event: WheelEvent) {
        if (!event.ctrlKey) return
        event.preventDefault()
        zoom(2 ** (event.deltaY / -200), placeOf(event) - left)
      },
    },
  }
}
