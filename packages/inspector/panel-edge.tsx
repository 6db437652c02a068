import type { TargetedKeyboardEvent, TargetedPointerEvent } from 'preact'
import { useRef } from 'preact/hooks'
import { panelWidth } from './state.ts'

const leastPx = 360
const stepPx = 32
/** The least width that is left for the chat. */
const chatPx = 320

const steps: Readonly<Record<string, number>> = { ArrowLeft: stepPx, ArrowRight: -stepPx }

/** The left edge of the panel. Dragging it, or the arrow keys, change the width; a double click resets it. */
export function PanelEdge() {
  const edge = useRef<HTMLDivElement>(null)
  const boxes = () => {
    const panel = edge.current?.parentElement?.getBoundingClientRect()
    const chat = document.getElementById('chat')?.getBoundingClientRect()
    return { right: panel?.right ?? 0, now: panel?.width ?? leastPx, chat: chat?.width ?? 0 }
  }
  const most = () => Math.max(leastPx, boxes().now + boxes().chat - chatPx)
  const resize = (px: number) => {
    panelWidth.value = String(Math.round(Math.min(Math.max(px, leastPx), most())))
  }
  function onKeyDown(event: TargetedKeyboardEvent<HTMLDivElement>) {
    const step = steps[event.key]
    if (step === undefined) return
    event.preventDefault()
    resize(boxes().now + step)
  }
  function onPointerMove({ currentTarget, pointerId, clientX }: TargetedPointerEvent<HTMLDivElement>) {
    if (currentTarget.hasPointerCapture(pointerId)) resize(boxes().right - clientX)
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: an hr cannot have the focus
    <div
      ref={edge}
      class="app-panel-edge"
      role="separator"
      tabIndex={0}
      aria-label="Width of the inspector"
      aria-orientation="vertical"
      aria-controls="panel"
      aria-valuemin={leastPx}
      aria-valuemax={innerWidth}
      aria-valuenow={Number(panelWidth.value) || Math.round(innerWidth * 0.42)}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        event.preventDefault()
        event.currentTarget.setPointerCapture(event.pointerId)
      }}
      onPointerMove={onPointerMove}
      onDblClick={() => (panelWidth.value = '')}
    />
  )
}
