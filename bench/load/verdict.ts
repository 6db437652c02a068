import type { FollowerLog } from './followers.ts'

/** What everybody should have been told. */
export interface Truth {
  /** The number of each thread's last entry. */
  readonly heads: Readonly<Record<string, number>>
  /** How many words the provider told each. */
  readonly words: Readonly<Record<string, number>>
}

/** What is wrong with what followers were told, one line for each of them. */
export function faultsOf(logs: readonly FollowerLog[], truth: Truth): string[] {
  return logs.flatMap(({ plan: { thread, transport }, head, words, faults }) => {
    const last = truth.heads[thread]
    const said = truth.words[thread] ?? 0
    const wrong = [
      ...faults,
      ...(head === last ? [] : [`came to ${head} of ${last}`]),
      ...(words === said ? [] : [`was told ${words} of ${said} words`]),
    ]
    return wrong.length === 0 ? [] : [`${thread} over ${transport}: ${wrong.join(', ')}`]
  })
}
