import type { Inline } from './inline.ts'
import { inlineText } from './inline.ts'
import type { Align, Sink } from './sink.ts'

/** Draws one row of a table while it arrives: `| a | b |`. A cell opens with its first word. */
export function tableRow(sink: Sink, tag: 'th' | 'td', aligns: readonly Align[]): Inline {
  let cell: Inline | undefined
  let cells = 0
  let pipes = 0
  let held = ''

  function openCell(): Inline {
    sink.open(tag, { align: aligns[cells++] ?? 'left' })
    return inlineText(sink, 'cell')
  }

  function closeCell(): void {
    cell ??= openCell()
    cell.end()
    sink.close()
    cell = undefined
  }

  function writeCell(text: string): void {
    const words = cell ? text : text.trimStart()
    if (words === '') return
    cell ??= openCell()
    cell.write(words)
  }

  sink.open(tag === 'th' ? 'head' : 'row')
  return {
    write(text) {
      const parts = (held + text).matchAll(/\\.?|\||[^\\|]+/g)
      held = ''
      for (const [part] of parts) {
        // A trailing backslash may belong to a pipe that has not arrived yet.
        if (part === '\\') held = part
        else if (part !== '|') writeCell(part === '\\|' ? '|' : part)
        else if (pipes++ > 0) closeCell()
      }
    },
    end() {
      writeCell(held)
      if (cell) closeCell()
      while (cells < aligns.length) closeCell()
      sink.close()
    },
    get held() {
      return (cell?.held ?? '') + held
    },
  }
}
