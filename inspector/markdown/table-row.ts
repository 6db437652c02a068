import type { Inline } from './inline.ts'
import { inlineText } from './inline.ts'
import type { Align, Pen } from './pen.ts'

/** Draws one row of a table while it is written: `| a | b |`. A cell opens with its first word. */
export function tableRow(pen: Pen, tag: 'th' | 'td', aligns: readonly Align[]): Inline {
  let cell: Inline | undefined
  let cells = 0
  let pipes = 0
  let held = ''

  function openCell(): Inline {
    pen.open(tag, { align: aligns[cells++] ?? 'left' })
    return inlineText(pen, 'cell')
  }

  function closeCell(): void {
    cell ??= openCell()
    cell.end()
    pen.close()
    cell = undefined
  }

  function writeCell(text: string): void {
    const words = cell ? text : text.trimStart()
    if (words === '') return
    cell ??= openCell()
    cell.write(words)
  }

  pen.open(tag === 'th' ? 'head' : 'row')
  return {
    write(text) {
      const parts = (held + text).matchAll(/\\.?|\||[^\\|]+/g)
      held = ''
      for (const [part] of parts) {
        // At the end of the text a backslash may belong to a pipe that has not come yet.
        if (part === '\\') held = part
        else if (part !== '|') writeCell(part === '\\|' ? '|' : part)
        else if (pipes++ > 0) closeCell()
      }
    },
    end() {
      writeCell(held)
      if (cell) closeCell()
      while (cells < aligns.length) closeCell()
      pen.close()
    },
  }
}
