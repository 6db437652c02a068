import type { GrowingText } from 'millrace/view'
import { markdownParser } from 'millrace/view'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { domSink } from './dom-sink.ts'
import './markdown.css'

/**
 * Markdown that is still being written. A render draws the pieces that have come since the last one and touches nothing else; `version`
 * is there to be another when some have. The inside of the element is drawn by hand, Preact knows only of the element.
 */
export function Markdown({ text }: { text: GrowingText; version: number }) {
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

function draw(text: GrowingText, root: HTMLElement) {
  const sink = domSink(root)
  const parser = markdownParser(sink)
  let pieces = 0
  return {
    goOn() {
      parser.write(text.pieces.slice(pieces).join(''))
      pieces = text.pieces.length
      if (text.closed) parser.end()
      sink.flush()
    },
    end() {
      sink.dispose()
      root.replaceChildren()
    },
  }
}
