import type { WriteStream } from 'node:tty'
import { widthOf } from './width.ts'

/** Where to leave the cursor: in this live row, after this text, with which the row starts. */
export interface Cursor {
  readonly row: number
  readonly before: string
}

/**
 * A terminal whose last rows can still change. Rows above them are permanent and scroll away like any
 * output. Only the last rows are redrawn, so the rest of the screen need not be known.
 */
export interface Screen {
  /**
   * The maximum width of a row. One column less than the terminal has, since terminals disagree about
   * the cursor after a full row.
   */
  readonly width: number
  /** How many live rows fit. Of more, the last are shown: rows that scrolled off cannot be redrawn. */
  readonly height: number
  /** Writes `above` permanently, and replaces the live rows with `live`. Only differences are sent. */
  show(above: readonly string[], live: readonly string[], cursor?: Cursor): void
  /** Erases the live rows, to be redrawn after the window was resized. */
  clear(): void
  /** Leaves the cursor below the live rows. */
  close(): void
}

const esc = String.fromCharCode(27)
const hideCursor = `${esc}[?25l`
const showCursor = `${esc}[?25h`
const eraseRight = `${esc}[K`
const eraseBelow = `${esc}[J`

export function screenOn(out: WriteStream): Screen {
  let drawn: readonly string[] = []
  let cursor: Cursor = { row: 0, before: '' }
  // A terminal that does not know its size reports 0.
  const columns = () => out.columns || 80
  const height = () => Math.max(1, (out.rows || 24) - 1)

  function place(live: readonly string[], wanted: Cursor | undefined): Cursor {
    const last = live.length - 1
    return wanted && wanted.row >= 0 && wanted.row <= last
      ? wanted
      : { row: Math.max(0, last), before: live[last] ?? '' }
  }

  /**
   * Moves the cursor from the last written row. The text before the cursor is written again, so the
   * position is right whatever width this terminal gives to its characters.
   */
  function moveTo({ row, before }: Cursor, from: number): string {
    return `${up(from - row)}\r${before}`
  }

  function write(rows: readonly string[], live: readonly string[], wanted: Cursor | undefined) {
    let output = `${up(cursor.row)}\r`
    rows.forEach((row, at) => {
      if (at > 0) output += '\r\n'
      if (row !== drawn[at]) output += row + eraseRight
    })
    if (drawn.length > rows.length) output += `\r\n${eraseBelow}${up(1)}`
    const next = place(live, wanted)
    output += moveTo(next, live.length === 0 ? 0 : live.length - 1)
    out.write(hideCursor + output + showCursor)
    drawn = live
    cursor = next
  }

  /** Erases from the start of the live rows. A narrower window has wrapped them. */
  function erase(): string {
    const rowsOf = (text: string) => Math.max(1, Math.ceil(widthOf(text) / columns()))
    const above = drawn.slice(0, cursor.row).reduce((sum, row) => sum + rowsOf(row), 0)
    return `${up(above + rowsOf(cursor.before) - 1)}\r${eraseBelow}`
  }

  function reset() {
    drawn = []
    cursor = { row: 0, before: '' }
  }

  return {
    get width() {
      return Math.max(10, columns() - 1)
    },
    get height() {
      return height()
    },
    show(above, live, wanted) {
      // Rows made for a wider window have been wrapped by this one.
      if (drawn.some((row) => widthOf(row) > columns())) {
        out.write(erase())
        reset()
      }
      const hidden = Math.max(0, live.length - height())
      const fitting = live.slice(hidden)
      const shifted = wanted && { ...wanted, row: wanted.row - hidden }
      // There is always a row below the permanent ones.
      const rows = [...above, ...(fitting.length > 0 ? fitting : [''])]
      write(rows, fitting, shifted)
    },
    clear() {
      out.write(erase())
      reset()
    },
    close() {
      const down = Math.max(0, drawn.length - 1 - cursor.row)
      out.write(`${down > 0 ? `${esc}[${down}B` : ''}${drawn.at(-1) ? '\r\n' : '\r'}${showCursor}`)
      reset()
    },
  }
}

function up(rows: number): string {
  return rows > 0 ? `${esc}[${rows}A` : ''
}
