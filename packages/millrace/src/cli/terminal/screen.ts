import type { WriteStream } from 'node:tty'
import { widthOf } from './width.ts'

/** Where to leave the cursor: in this live row, behind this text. The row begins with it. */
export interface Cursor {
  readonly row: number
  readonly before: string
}

/**
 * A terminal whose last rows can still change. What is written above them stays and scrolls away like any output; only
 * those last rows are ever drawn again, so nothing has to be known about the rest of the screen.
 */
export interface Screen {
  /** How wide a row may be. One column less than there are: a full row leaves terminals at odds about where the cursor is. */
  readonly width: number
  /** How many live rows there is room for. Of more, the last are shown: what has scrolled off cannot be reached any more. */
  readonly height: number
  /** Writes `above` for good, and `live` below it in place of what was live before. Only what differs is sent. */
  show(above: readonly string[], live: readonly string[], cursor?: Cursor): void
  /** Erases what is live, for it to be shown anew: the window has another size. */
  clear(): void
  /** Ends with the cursor below what is live. */
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
  // A terminal that does not know its size says 0.
  const columns = () => out.columns || 80
  const height = () => Math.max(1, (out.rows || 24) - 1)

  function place(live: readonly string[], wanted: Cursor | undefined): Cursor {
    const last = live.length - 1
    return wanted && wanted.row >= 0 && wanted.row <= last
      ? wanted
      : { row: Math.max(0, last), before: live[last] ?? '' }
  }

  /**
   * Moves from the last row that was written to where the cursor belongs. The text before it is written once more: then it
   * stands right behind it, however wide this terminal thinks that is.
   */
  function moveTo({ row, before }: Cursor, from: number): string {
    return `${up(from - row)}\r${before}`
  }

  function write(rows: readonly string[], live: readonly string[], wanted: Cursor | undefined) {
    let order = `${up(cursor.row)}\r`
    rows.forEach((row, at) => {
      if (at > 0) order += '\r\n'
      if (row !== drawn[at]) order += row + eraseRight
    })
    if (drawn.length > rows.length) order += `\r\n${eraseBelow}${up(1)}`
    const next = place(live, wanted)
    order += moveTo(next, live.length === 0 ? 0 : live.length - 1)
    out.write(hideCursor + order + showCursor)
    drawn = live
    cursor = next
  }

  /** Back to the start of what is live. Where the window has become narrower, the terminal has broken its rows in two. */
  function erase(): string {
    const rowsOf = (text: string) => Math.max(1, Math.ceil(widthOf(text) / columns()))
    const above = drawn.slice(0, cursor.row).reduce((sum, row) => sum + rowsOf(row), 0)
    return `${up(above + rowsOf(cursor.before) - 1)}\r${eraseBelow}`
  }

  function forget() {
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
      // A row that was laid out for a wider window is broken in two by this one.
      if (drawn.some((row) => widthOf(row) > columns())) {
        out.write(erase())
        forget()
      }
      const hidden = Math.max(0, live.length - height())
      const fitting = live.slice(hidden)
      const shifted = wanted && { ...wanted, row: wanted.row - hidden }
      // Below what stays there is always a row to write in.
      const rows = [...above, ...(fitting.length > 0 ? fitting : [''])]
      write(rows, fitting, shifted)
    },
    clear() {
      out.write(erase())
      forget()
    },
    close() {
      const down = Math.max(0, drawn.length - 1 - cursor.row)
      out.write(`${down > 0 ? `${esc}[${down}B` : ''}${drawn.at(-1) ? '\r\n' : '\r'}${showCursor}`)
      forget()
    },
  }
}

function up(rows: number): string {
  return rows > 0 ? `${esc}[${rows}A` : ''
}
