import type { Entry, JsonObject, ThreadEvent } from '../protocol/index.ts'
import { MillraceError, spendOf, spendTokens } from '../protocol/index.ts'
import type { CallerUsage, Quotas } from './store.ts'

// How every store counts and limits what callers use.

/** Approximate size of a thread's rows, without its log and metadata. */
const threadBytes = 256

const encoder = new TextEncoder()

/** The length of a text in UTF-8. */
export const byteLength: (text: string) => number =
  globalThis.Buffer?.byteLength ?? ((text) => encoder.encode(text).length)

/** The bytes that a thread with an empty log counts as. */
export function bytesOfThread(metadata: JsonObject | undefined): number {
  return threadBytes + (metadata ? byteLength(JSON.stringify(metadata)) : 0)
}

/** Approximate bytes that a fork at a number shares with a thread's log. */
export function sharedBytes(
  bytes: number,
  { at, head }: { readonly at: number; readonly head: number },
): number {
  return head === 0 ? 0 : Math.round((bytes * at) / head)
}

/** Whether it waits until a run names it in its `inputs`. */
export function isWaitingInput(event: ThreadEvent): boolean {
  if (event.type === 'rewind') return event.keep !== undefined
  return event.type === 'input' && event.mode !== 'correct'
}

/** How many messages stop waiting with this event. */
export function inputsTakenBy(event: ThreadEvent): number {
  if (event.type !== 'run-start' && event.type !== 'round-start') return 0
  const discarded = event.type === 'run-start' ? (event.discarded?.length ?? 0) : 0
  return (event.inputs?.length ?? 0) + discarded
}

export function tokensOf(event: ThreadEvent): number {
  const spend = spendOf(event)
  return spend ? spendTokens(spend) : 0
}

/** How many messages are still waiting in a log that starts with these entries. */
export function waitingIn(entries: readonly Entry[]): number {
  const inputs = entries.filter(({ event }) => isWaitingInput(event)).length
  return Math.max(0, inputs - sumOf(entries, ({ event }) => inputsTakenBy(event)))
}

export function sumOf<Item>(items: readonly Item[], valueIn: (item: Item) => number): number {
  let sum = 0
  for (const item of items) sum += valueIn(item)
  return sum
}

/** The quotas that are checked before a message is accepted. */
export const inputQuotas = ['waiting', 'storedBytes', 'bytesPerMinute', 'tokensPerMinute'] as const

const minuteMs = 60_000

export function minuteOf(time: number): number {
  return Math.floor(time / minuteMs)
}

/** Throws if one of these quotas is used up. */
export function checkQuotas(
  usage: CallerUsage,
  quotas: Quotas,
  names: readonly Exclude<keyof Quotas, 'runs'>[],
  { op, time }: { readonly op: string; readonly time: number },
): void {
  for (const name of names) {
    const { used, what, advice, retryAfterMs } = quotaTable[name]
    if (usage[used] < quotas[name]) continue
    const message = `quota '${name}' is used up (${usage[used]} of ${quotas[name]} ${what}): ${advice}`
    throw new MillraceError({
      op,
      code: 'rate_limit',
      limit: name,
      message,
      retryable: true,
      retryAfterMs: retryAfterMs ?? minuteMs - (time % minuteMs),
    })
  }
}

interface QuotaRow {
  readonly used: keyof CallerUsage
  readonly what: string
  readonly advice: string
  /** Until the next minute if absent. */
  readonly retryAfterMs?: number
}

const quotaTable: Record<Exclude<keyof Quotas, 'runs'>, QuotaRow> = {
  waiting: {
    used: 'waiting',
    what: 'messages waiting for a run',
    advice: 'wait until some of them are answered, or delete their threads',
    retryAfterMs: 5000,
  },
  storedBytes: {
    used: 'storedBytes',
    what: 'bytes stored',
    advice: 'delete threads that are no longer needed',
    retryAfterMs: minuteMs,
  },
  bytesPerMinute: {
    used: 'bytesThisMinute',
    what: 'bytes written this minute',
    advice: 'try again in the next minute',
  },
  tokensPerMinute: {
    used: 'tokensThisMinute',
    what: 'tokens used this minute',
    advice: 'try again in the next minute',
  },
}
