import type { Entry } from 'millrace/client'

/** How many entries are written before yielding to the page. */
const slice = 1000

/** Entries as JSON lines, like `GET …/events`. In pieces, since there may be 100,000 entries. */
export async function jsonLines(entries: readonly Entry[]): Promise<string[]> {
  const pieces: string[] = []
  for (let from = 0; from < entries.length; from += slice) {
    const lines = entries.slice(from, from + slice).map((entry) => `${JSON.stringify(entry)}\n`)
    pieces.push(lines.join(''))
    await new Promise((resolve) => setTimeout(resolve))
  }
  return pieces
}
