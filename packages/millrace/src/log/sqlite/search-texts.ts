import type { StatementSync } from 'node:sqlite'
import type { ThreadInfo } from '../../protocol/index.ts'
import { excerptOf } from '../excerpt.ts'
import type { Reads } from './commits.ts'
import { from, maxSeq, to } from './statements.ts'

/** A thread to search. */
export interface SearchedThread {
  readonly n: number
  readonly base: number | null
  readonly base_seq: number
  readonly label: string
  /** Null if it has no facts, and with them no texts of its own. */
  readonly nanos: number | null
}

export interface SearchResult {
  readonly found: boolean
  readonly match?: ThreadInfo['match'] | undefined
}

/** A text that contains a word, and the row number of the thread that has it. */
interface Hit {
  readonly thread: number
  readonly seq: number
}

/** How many texts of a thread are searched at once. They have up to 64 thousand characters each. */
const textsAtOnce = 64

/** Searches the labels and texts of threads. */
export function textSearch(prepared: (sql: string) => StatementSync, read: Reads['read']) {
  const op = 'store.list'

  /** Searches the last texts up to a number. Returns the latest one with a word. */
  function searchTexts(thread: number, upTo: number, word: string) {
    const statement = prepared(
      `SELECT count(*) AS count, min(n) & ${maxSeq} AS first, max(iif(instr(search, :word) > 0, n, NULL)) & ${maxSeq} AS found
       FROM (SELECT n, search FROM texts WHERE ${from(0)} AND ${to(':upTo')} ORDER BY n DESC LIMIT ${textsAtOnce})`,
    )
    const row = statement.get({ thread, upTo, word }) as {
      count: number
      first: number
      found: number | null
    }
    return { found: row.found, first: row.first, isLast: row.count < textsAtOnce }
  }

  function baseOf(thread: number) {
    const row = prepared('SELECT base, base_seq FROM threads WHERE n = ?').get(thread)
    return row as unknown as Pick<SearchedThread, 'base' | 'base_seq'> | undefined
  }

  function matchAt({ thread, seq }: Hit, word: string): ThreadInfo['match'] {
    const row = prepared('SELECT text, search FROM texts WHERE n = (? << 32) | ?').get(thread, seq)
    return row && { seq, text: excerptOf(row as { text: string; search: string }, word) }
  }

  const missingIn = (label: string, words: readonly string[]) => words.filter((word) => !label.includes(word))

  return {
    /**
     * Searches a thread at once. Returns undefined if it shares texts with another thread, or has so
     * many that this would block other work.
     */
    searchShort(
      { n, base, label, nanos }: SearchedThread,
      words: readonly string[],
    ): SearchResult | undefined {
      const missing = missingIn(label, words)
      if (missing.length > 0 && base !== null) return undefined
      if (missing.length > 0 && nanos === null) return { found: false }
      let first: number | undefined
      for (const word of missing) {
        const { found, isLast } = searchTexts(n, maxSeq, word)
        if (found === null) return isLast ? { found: false } : undefined
        first ??= found
      }
      if (first === undefined) return { found: true }
      return { found: true, match: matchAt({ thread: n, seq: first }, missing[0] as string) }
    },

    /** Searches any thread. Calls `rest` again and again. */
    async searchLong(
      thread: SearchedThread,
      words: readonly string[],
      rest: () => Promise<void>,
    ): Promise<SearchResult> {
      const missing = missingIn(thread.label, words)
      let first: Hit | undefined
      for (const word of missing) {
        const hit = await findText(thread, word, rest)
        if (!hit) return { found: false }
        first ??= hit
      }
      const hit = first
      return { found: true, match: hit && (await read(op, () => matchAt(hit, missing[0] as string))) }
    },
  }

  /** Finds the latest text with a word, of the thread itself and those it shares. */
  async function findText(thread: SearchedThread, word: string, rest: () => Promise<void>) {
    let hit: Hit | undefined
    let [n, upTo]: [number | null, number] = [thread.n, maxSeq]
    for (let next: Pick<SearchedThread, 'base' | 'base_seq'> | undefined = thread; n !== null; ) {
      const holder = n
      // A thread has earlier texts than those that share them.
      for (let last = upTo; last > (hit?.seq ?? 0); ) {
        const end = last
        const { found, first, isLast } = await read(op, () => searchTexts(holder, end, word))
        await rest()
        if (found !== null && found > (hit?.seq ?? 0)) hit = { thread: holder, seq: found }
        if (found !== null || isLast) break
        last = first - 1
      }
      ;[n, upTo] = [next?.base ?? null, next?.base_seq ?? 0]
      const base: number | null = n
      next = base === null ? undefined : await read(op, () => baseOf(base))
    }
    return hit
  }
}
