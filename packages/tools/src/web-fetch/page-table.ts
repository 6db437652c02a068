import type { MarkdownWriter } from './markdown-writer.ts'

interface Table {
  /**
   * Data tables have headings; tables without are usually for layout. Undefined until the first
   * cell.
   */
  headed: boolean | undefined
  cells: number
  /** All cells of the current row so far are headings. */
  headings: boolean
  /** The line below the headings is written. */
  ruled: boolean
}

/** Writes data tables as Markdown tables, and each row of other tables as a line. */
export function tableWriter(writer: MarkdownWriter) {
  const tables: Table[] = []
  const current = () => (writer.isOneLine ? undefined : tables.at(-1))

  function openTable(): () => void {
    writer.gap(2)
    tables.push({ headed: undefined, cells: 0, headings: true, ruled: false })
    return () => {
      tables.pop()
      writer.gap(2)
    }
  }

  function openRow(): () => void {
    writer.gap(1)
    const table = current()
    if (!table) return () => writer.gap(1)
    table.cells = 0
    table.headings = true
    return () => {
      if (table.headed && table.cells > 0) endRow(table)
      writer.gap(1)
    }
  }

  function endRow(table: Table): void {
    writer.mark(' |')
    if (table.ruled) return
    table.ruled = true
    if (!table.headings) return
    writer.gap(1)
    writer.mark(`${'| --- '.repeat(table.cells)}|`)
  }

  function openCell(heading: boolean): (() => void) | undefined {
    const table = current()
    if (!table) return void writer.gap(1)
    table.headed ??= heading
    table.headings &&= heading
    const isFirst = table.cells++ === 0
    if (table.headed) {
      writer.mark(isFirst ? '| ' : ' | ')
      return writer.oneLine({ cell: true })
    }
    if (!isFirst) writer.separator(' | ')
  }

  return { openTable, openRow, openCell }
}
