import { appendFileSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** What was said before, to be said again. */
export interface History {
  /** The latest is the last. */
  readonly lines: readonly string[]
  add(line: string): void
}

/** So many lines are kept, if they are not longer together than this. */
const mostLines = 1000
const mostChars = 2 ** 20
/** Something pasted that is longer is not worth keeping. */
const longestLine = 16 * 1024

/**
 * Opens the history that is kept in a file: one JSON string a line, so that a text of several lines is one of them. Whatever is
 * wrong with the file, there is a history; one that cannot be written lasts as long as the process.
 */
export function openHistory(file: string | undefined): History {
  const lines = file === undefined ? [] : load(file)
  return {
    lines,
    add(line) {
      if (!line.trim() || line === lines.at(-1) || line.length > longestLine) return
      lines.push(line)
      if (lines.length > mostLines) lines.shift()
      if (file !== undefined) quietly(() => append(file, line))
    },
  }
}

function load(file: string): string[] {
  return (
    quietly(() => {
      // A file that has grown this large is none of ours: it is begun anew.
      const isLarge = statSync(file).size > 16 * mostChars
      const all = isLarge ? [] : readFileSync(file, 'utf8').split('\n').flatMap(readLine)
      const lines = all.slice(-mostLines)
      let length = lines.reduce((sum, line) => sum + line.length, 0)
      while (length > mostChars) length -= lines.shift()?.length ?? length
      if (isLarge || lines.length < all.length) rewrite(file, lines)
      return lines
    }) ?? []
  )
}

function readLine(line: string): string[] {
  const text: unknown = quietly(() => JSON.parse(line))
  return typeof text === 'string' ? [text] : []
}

/** What people say is nobody else's business. */
const mode = 0o600

function append(file: string, line: string) {
  mkdirSync(dirname(file), { recursive: true })
  appendFileSync(file, `${JSON.stringify(line)}\n`, { mode })
}

/** In one step, since another terminal may be reading it. */
function rewrite(file: string, lines: readonly string[]) {
  const fresh = `${file}.${process.pid}`
  writeFileSync(fresh, lines.map((line) => `${JSON.stringify(line)}\n`).join(''), { mode })
  renameSync(fresh, file)
}

function quietly<T>(act: () => T): T | undefined {
  try {
    return act()
  } catch {
    return undefined
  }
}

/** Goes back and forth in what was said; what is being written waits at the end. */
export interface Recall {
  back(current: string): string | undefined
  forth(): string | undefined
  /** Something was said, or written anew. */
  reset(): void
}

export function recallFrom(history: History): Recall {
  let at: number | undefined
  let draft = ''
  return {
    back(current) {
      const from = at ?? history.lines.length
      if (from === 0) return undefined
      if (at === undefined) draft = current
      at = from - 1
      return history.lines[at]
    },
    forth() {
      if (at === undefined) return undefined
      at++
      if (at < history.lines.length) return history.lines[at]
      at = undefined
      return draft
    },
    reset() {
      at = undefined
    },
  }
}
