import type { ThreadInfo } from '../protocol/index.ts'
import { toUsd } from '../protocol/index.ts'
import { excerptOf } from './excerpt.ts'
import { isResting } from './rows.ts'
import type { ListOptions, ThreadFacts, ThreadText } from './store.ts'

/** The facts of a thread in memory. */
export interface MemoryFacts {
  save(facts: ThreadFacts): void
  /** What they add to the info of the thread. */
  infoFor(status: ThreadInfo['status']): Pick<ThreadInfo, 'outcome' | 'error' | 'knownUsd'>
  /** Whether the thread passes these filters. */
  pass(filters: Pick<ListOptions, 'tool' | 'minNanos'>): boolean
  /** The texts up to a number. */
  textsUpTo(seq: number): ThreadText[]
}

/** `shared` is the number up to which another thread holds the log. */
export function memoryFacts(shared: number): MemoryFacts {
  let last: Pick<ThreadFacts, 'outcome' | 'error' | 'nanos'> | undefined
  const tools = new Set<string>()
  const texts = new Map<number, ThreadText>()
  return {
    save(facts) {
      const { outcome, error, nanos } = facts
      last = { outcome, error, nanos }
      for (const name of facts.tools) tools.add(name)
      for (const text of facts.texts) if (text.seq > shared && !texts.has(text.seq)) texts.set(text.seq, text)
    },
    infoFor(status) {
      if (!last) return {}
      const { outcome, error } = isResting(status) ? last : {}
      return {
        ...(outcome !== undefined && { outcome }),
        ...(error !== undefined && { error }),
        knownUsd: toUsd(last.nanos),
      }
    },
    pass: ({ tool, minNanos }) =>
      (tool === undefined || tools.has(tool)) &&
      (minNanos === undefined || (last !== undefined && last.nanos >= minNanos)),
    textsUpTo: (most) => [...texts.values()].filter(({ seq }) => seq <= most),
  }
}

/**
 * Whether a search finds a thread, and the match if its label does not contain all words. `texts`
 * returns its texts, its own before those it shares.
 */
export function searchThread(
  words: readonly string[],
  label: string,
  texts: () => ThreadText[],
): { readonly found: boolean; readonly match?: ThreadInfo['match'] } {
  const missing = words.filter((word) => !label.includes(word))
  const [first] = missing
  if (first === undefined) return { found: true }
  const sorted = texts().sort((one, other) => other.seq - one.seq)
  const latest = (word: string) => sorted.find(({ search }) => search.includes(word))
  const hit = latest(first)
  if (!hit || !missing.every(latest)) return { found: false }
  return { found: true, match: { seq: hit.seq, text: excerptOf(hit, first) } }
}
