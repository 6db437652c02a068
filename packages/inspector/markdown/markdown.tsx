import type { GrowingText } from 'millrace/view'
import { markdownParser } from 'millrace/view'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { domSink } from './dom-sink.ts'
import './markdown.css'

/**
 * Markdown that may still be growing. Each render appends the new pieces and changes nothing else;
 * `version` triggers the render. Preact does not manage the content of the element.
 */
export function Markdown({ text }: { text: GrowingText; version: number }) {
  const root = useRef<HTMLDivElement>(null)
  const drawMore = useRef<() => void>(undefined)

  useLayoutEffect(() => {
    if (!root.current) return
    const drawing = draw(text, root.current)
    drawMore.current = drawing.drawMore
    return drawing.end
  }, [text])
  useLayoutEffect(() => drawMore.current?.())

  return <div class="md" ref={root} />
}

function draw(text: GrowingText, root: HTMLElement) {
  const sink = domSink(root)
  const parser = markdownParser(sink)
  let pieces = 0
  return {
    drawMore() {
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
