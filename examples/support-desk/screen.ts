import type { WriteStream } from 'node:tty'

/**
 * A terminal whose last lines can still change. What is written above them stays and scrolls away like any output; only
 * those last lines are ever erased and drawn again, so nothing has to be known about the rest of the screen.
 */
export interface Screen {
  /** How wide a line may be. One column less than there are: a full line leaves terminals at odds about where the cursor is. */
  readonly width: number
  /** Writes `above` for good, and `live` below it in place of what was live before. */
  show(above: readonly string[], live: readonly string[]): void
}

export function screenOn(out: WriteStream): Screen {
  let drawn: readonly string[] = []
  // A terminal that does not know its size says 0.
  const columns = () => out.columns || 80
  const rows = () => out.rows || 24

  /** Back to the start of what is live. After a resize the terminal has broken its lines anew. */
  function erase(): string {
    const height = drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / columns())), 0)
    return `${height > 1 ? `\x1b[${height - 1}A` : ''}\r\x1b[J`
  }

  return {
    get width() {
      return Math.max(10, columns() - 1)
    },
    show(above, live) {
      // What has scrolled off the top cannot be reached any more, so live lines must fit on the screen.
      const fitting = live.slice(0, Math.max(1, rows() - 2))
      out.write(`${erase()}${above.map((line) => `${line}\n`).join('')}${fitting.join('\n')}`)
      drawn = fitting
    },
  }
}

const wide = /[\u1100-\u115F\u2E80-\u{10FFFF}]|\p{Emoji_Presentation}/u
// biome-ignore lint/suspicious/noControlCharactersInRegex: our own colours, and nothing else, are in a line.
const colour = /\x1b\[\d+m/g

/** Columns, rather too many than too few: characters that are two wide in some terminals count as two. */
export function widthOf(text: string): number {
  let width = 0
  for (const char of text.replace(colour, '')) width += wide.test(char) ? 2 : 1
  return width
}

/** How much of a text fits, in UTF-16 units. */
function fitting(text: string, width: number): number {
  let used = 0
  let end = 0
  for (const char of text) {
    used += widthOf(char)
    if (used > width) break
    end += char.length
  }
  return end
}

/** Cuts the end off a text that is too wide, and shows that it did. */
export function clip(text: string, width: number): string {
  return widthOf(text) <= width ? text : `${text.slice(0, fitting(text, width - 1))}…`
}

/** Breaks text into lines at newlines and between words. The last is the one that text is still added to. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap((paragraph) => {
    const lines: string[] = []
    let rest = paragraph
    while (widthOf(rest) > width) {
      const end = fitting(rest, width)
      const space = rest.lastIndexOf(' ', end)
      lines.push(rest.slice(0, space > 0 ? space : end))
      rest = rest.slice(space > 0 ? space + 1 : end)
    }
    return [...lines, rest]
  })
}
