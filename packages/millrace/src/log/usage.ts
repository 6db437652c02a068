import type { Entry, JsonObject, ThreadEvent } from '../protocol/index.ts'
import { MillraceError } from '../protocol/index.ts'
import type { CallerUsage, Quotas } from './store.ts'

// The rules by which every store counts what callers use, and limits it.

/** About what the rows of a thread take beside its log and its metadata. */
const threadBytes = 256

const encoder = new TextEncoder()

/** How long a text is in UTF-8. */
export const byteLength: (text: string) => number =
  globalThis.Buffer?.byteLength ?? ((text) => encoder.encode(text).length)

/** What a thread with an empty log counts as. */
export function bytesOfThread(metadata: JsonObject | undefined): number {
  return threadBytes + (metadata ? byteLength(JSON.stringify(metadata)) : 0)
}

/** About how much of the log of a thread its fork at a number shares. */
export function sharedBytes(
  bytes: number,
  { at, head }: { readonly at: number; readonly head: number },
): number {
  return head === 0 ? 0 : Math.round((bytes * at) / head)
}

export function isWaitingInput(event: ThreadEvent): boolean {
  return event.type === 'input' && event.mode !== 'correct'
}

/** How many messages stop waiting with this event. */
export function heardBy(event: ThreadEvent): number {
  return event.type === 'run-start' || event.type === 'round-start' ? (event.heard?.length ?? 0) : 0
}

export function tokensOf(event: ThreadEvent): number {
  if (event.type !== 'round-end' && event.type !== 'summary') return 0
  const { inputTokens = 0, outputTokens = 0 } = event.usage ?? {}
  return inputTokens + outputTokens
}

/** How many messages still wait in a log that begins with these entries. */
export function waitingIn(entries: readonly Entry[]): number {
  const inputs = entries.filter(({ event }) => isWaitingInput(event)).length
  return Math.max(0, inputs - sumOf(entries, ({ event }) => heardBy(event)))
}

export function sumOf<Item>(items: readonly Item[], figureOf: (item: Item) => number): number {
  let sum = 0
  for (const item of items) sum += figureOf(item)
  return sum
}

/** Those that are checked before a message is taken. */
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
    const message = `the caller has ${usage[used]} ${what}, and its quota '${name}' is ${quotas[name]}: ${advice}`
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
    what: 'messages that wait for a run',
    advice: 'wait until some of them are answered, or delete their threads',
    retryAfterMs: 5000,
  },
  storedBytes: {
    used: 'storedBytes',
    what: 'bytes in its threads',
    advice: 'delete threads that are no longer needed',
    retryAfterMs: minuteMs,
  },
  bytesPerMinute: {
    used: 'bytesThisMinute',
    what: 'bytes written in this minute',
    advice: 'try again in the next one',
  },
  tokensPerMinute: {
    used: 'tokensThisMinute',
    what: 'tokens used in this minute',
    advice: 'try again in the next one',
  },
}
