import { appendFileSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** Messages that the user sent before. */
export interface History {
  /** Oldest first. */
  readonly lines: readonly string[]
  add(line: string): void
}

/** How many lines are kept, and how many characters in total. */
const maxLines = 1000
const maxChars = 2 ** 20
/** Longer lines were pasted and are not kept. */
const maxLineChars = 16 * 1024

/**
 * Opens the history in a file: one JSON string per line, since a message may have several lines.
 * Errors of the file are ignored: the history then lasts as long as the process.
 */
export function openHistory(file: string | undefined): History {
  const lines = file === undefined ? [] : load(file)
  return {
    lines,
    add(line) {
      if (!line.trim() || line === lines.at(-1) || line.length > maxLineChars) return
      lines.push(line)
      if (lines.length > maxLines) lines.shift()
      if (file !== undefined) ignoringErrors(() => append(file, line))
    },
  }
}

function load(file: string): string[] {
  return (
    ignoringErrors(() => {
      // A file of this size is not ours: start over.
      const isLarge = statSync(file).size > 16 * maxChars
      const all = isLarge ? [] : readFileSync(file, 'utf8').split('\n').flatMap(readLine)
      const lines = all.slice(-maxLines)
      let length = lines.reduce((sum, line) => sum + line.length, 0)
      while (length > maxChars) length -= lines.shift()?.length ?? length
      if (isLarge || lines.length < all.length) rewrite(file, lines)
      return lines
    }) ?? []
  )
}

function readLine(line: string): string[] {
  const text: unknown = ignoringErrors(() => JSON.parse(line))
  return typeof text === 'string' ? [text] : []
}

/** Only the user can read the file. */
const mode = 0o600

function append(file: string, line: string) {
  mkdirSync(dirname(file), { recursive: true })
  appendFileSync(file, `${JSON.stringify(line)}\n`, { mode })
}

/** Replaces the file atomically, since another terminal may be reading it. */
function rewrite(file: string, lines: readonly string[]) {
  const fresh = `${file}.${process.pid}`
  writeFileSync(fresh, lines.map((line) => `${JSON.stringify(line)}\n`).join(''), { mode })
  renameSync(fresh, file)
}

function ignoringErrors<T>(act: () => T): T | undefined {
  try {
    return act()
  } catch {
    return undefined
  }
}

/** Moves through the history. The current draft comes after the last line. */
export interface HistoryCursor {
  previous(current: string): string | undefined
  next(): string | undefined
  /** Returns to the end, after a message was sent or edited. */
  reset(): void
}

export function historyCursor(history: History): HistoryCursor {
  let at: number | undefined
  let draft = ''
  return {
    previous(current) {
      const from = at ?? history.lines.length
      if (from === 0) return undefined
      if (at === undefined) draft = current
      at = from - 1
      return history.lines[at]
    },
    next() {
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
