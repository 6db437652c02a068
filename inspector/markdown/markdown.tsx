import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Growing } from '../log/types.ts'
import { markdownWriter } from './blocks.ts'
import { domPen } from './dom-pen.ts'
import './markdown.css'

/**
 * Markdown that is still being written. A render draws the pieces that have come since the last one and touches nothing else; `version`
 * is there to be another when some have. The inside of the element is drawn by hand, Preact knows only of the element.
 */
export function Markdown({ text }: { text: Growing; version: number }) {
  const root = useRef<HTMLDivElement>(null)
  const goOn = useRef<() => void>(undefined)

  useLayoutEffect(() => {
    if (!root.current) return
    const drawing = draw(text, root.current)
    goOn.current = drawing.goOn
    return drawing.end
  }, [text])
  useLayoutEffect(() => goOn.current?.())

  return <div class="md" ref={root} />
}

function draw(text: Growing, root: HTMLElement) {
  const pen = domPen(root)
  const writer = markdownWriter(pen)
  let pieces = 0
  return {
    goOn() {
      writer.write(text.pieces.slice(pieces).join(''))
      pieces = text.pieces.length
      if (text.closed) writer.end()
      pen.flush()
    },
    end() {
      pen.dispose()
      root.replaceChildren()
    },
  }
}
