import type { ThreadInfo } from 'millrace/client'

const dayMs = 86_400_000
const month = new Intl.DateTimeFormat(undefined, { month: 'long' })
const monthOfYear = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric' })

/** The heading for a thread that changed at a time: `Today`, `Yesterday`, `Last 7 days`, or the month. */
export function groupOf(at: number, now: number): string {
  const midnight = new Date(now).setHours(0, 0, 0, 0)
  if (at >= midnight) return 'Today'
  // A day may have 23 or 25 hours.
  if (at >= new Date(midnight - dayMs / 2).setHours(0, 0, 0, 0)) return 'Yesterday'
  if (at >= new Date(midnight - 6.5 * dayMs).setHours(0, 0, 0, 0)) return 'Last 7 days'
  const isThisYear = new Date(at).getFullYear() === new Date(now).getFullYear()
  return (isThisYear ? month : monthOfYear).format(at)
}

/** A line of the list: a heading, or a thread. */
export type Line =
  | { readonly kind: 'heading'; readonly text: string }
  | { readonly kind: 'thread'; readonly thread: ThreadInfo }

/** When a thread was last written or came here: a fork or import has entries that are older than itself. */
export function changedAt({ createdAt, updatedAt }: ThreadInfo): number {
  return Math.max(createdAt, updatedAt)
}

/** Threads in their order, most recent first, with a heading before each group. */
export function groupThreads(threads: readonly ThreadInfo[], now: number): Line[] {
  const lines: Line[] = []
  let last: string | undefined
  let oldest = Infinity
  for (const thread of threads) {
    // Servers may have different clocks. No heading occurs twice.
    oldest = Math.min(oldest, changedAt(thread))
    const text = groupOf(oldest, now)
    if (text !== last) lines.push({ kind: 'heading', text })
    last = text
    lines.push({ kind: 'thread', thread })
  }
  return lines
}
