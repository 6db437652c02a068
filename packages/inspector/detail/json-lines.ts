import type { Entry } from 'millrace/client'

/** So many are written at once; then the page gets its turn. */
const slice = 1000

/** Entries as lines of JSON, as `GET …/events` tells them. In pieces, since there may be a hundred thousand. */
export async function jsonLines(entries: readonly Entry[]): Promise<string[]> {
  const pieces: string[] = []
  for (let from = 0; from < entries.length; from += slice) {
    const lines = entries.slice(from, from + slice).map((entry) => `${JSON.stringify(entry)}\n`)
    pieces.push(lines.join(''))
    await new Promise((resolve) => setTimeout(resolve))
  }
  return pieces
}
