import { charWidth } from './width.ts'

const esc = String.fromCharCode(27)
const sequence = new RegExp(`${esc}\\[(\\?)?([\\d;]*)([A-Za-z])|[^]`, 'gu')

/** A terminal in memory, with the features that we use. Unknown sequences throw. */
export function terminalOf({ columns = 80, rows = 24 }: { columns?: number; rows?: number } = {}) {
  let cells: string[][] = [[]]
  // The screen is the last `rows` of the lines.
  let [row, column] = [0, 0]
  const modes = new Set<string>()
  const top = () => Math.max(0, cells.length - rows)

  function put(char: string) {
    const width = charWidth(char)
    if (width === 0) {
      const line = cells[row] as string[]
      line[Math.max(0, column - 1)] = (line[Math.max(0, column - 1)] ?? '') + char
      return
    }
    if (column + width > columns) [row, column] = [row + 1, 0]
    cells[row] ??= []
    const line = cells[row] as string[]
    while (line.length < column) line.push(' ')
    line[column] = char
    if (width === 2) line[column + 1] = ''
    column += width
  }

  function execute(text: string, isPrivate: boolean, count: string, name: string) {
    const number = Number(count || 1)
    if (isPrivate && name === 'h') modes.add(count)
    else if (isPrivate && name === 'l') modes.delete(count)
    else if (name === 'A') row = Math.max(top(), row - number)
    else if (name === 'B') row = Math.min(cells.length - 1, row + number)
    else if (name === 'C') column += number
    else if (name === 'K') cells[row] = (cells[row] ?? []).slice(0, column)
    else if (name === 'J') cells = [...cells.slice(0, row), (cells[row] ?? []).slice(0, column)]
    else if (name !== 'm') throw new Error(`${JSON.stringify(text)} is unknown: add it to terminalOf`)
  }

  return {
    write(output: string) {
      for (const [text, mark, count = '', name] of output.matchAll(sequence)) {
        if (name !== undefined) execute(text, mark === '?', count, name)
        else if (text === '\r') column = 0
        else if (text === '\n') cells[++row] ??= []
        else if (text.length === 1 && text < ' ')
          throw new Error(`a control character: ${JSON.stringify(text)}`)
        else put(text)
      }
      return true
    },
    /** All lines, including those that scrolled away, without trailing blanks. */
    lines(): string[] {
      const lines = cells.map((line) =>
        Array.from(line, (cell) => cell ?? ' ')
          .join('')
          .trimEnd(),
      )
      return lines.slice(0, lines.findLastIndex((line) => line !== '') + 1)
    },
    cursor: () => ({ row, column }),
    modes,
    columns,
    rows,
  }
}
