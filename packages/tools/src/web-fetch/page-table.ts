import type { MarkdownWriter } from './markdown-writer.ts'

interface Table {
  /** With headings it is a table of data, without any most often one that only arranges; undefined until its first cell. */
  headed: boolean | undefined
  cells: number
  /** That the row so far is headings only. */
  headings: boolean
  /** That the line below the headings is written. */
  ruled: boolean
}

/** Tables of data as Markdown has them; of others each row is a line. */
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
