import type { Outcome, RunView } from 'millrace/view'
import { limitText } from 'millrace/view'
import { duration, number } from '../format.ts'
import { outcomeLabels } from './strings.ts'

export interface RunTimes {
  /** How long processes worked on it. */
  readonly activeMs: number
  /** How long it waited for a person. */
  readonly waitedMs: number
  /** From its start to its end, or to now. Includes the time between a crash and the next process. */
  readonly totalMs: number
}

/** How long a run took, in parts. The chat, the details and the timeline all show these. */
export function runTimes({ legs, startedAt }: RunView, now: number): RunTimes {
  let activeMs = 0
  let waitedMs = 0
  let end = startedAt
  for (const [index, { at, endedAt, outcome }] of legs.entries()) {
    // The clock of the server may be ahead of the clock here.
    end = endedAt ?? Math.max(now, at)
    activeMs += end - at
    if (outcome !== 'suspended') continue
    const next = legs[index + 1]?.at ?? Math.max(now, end)
    waitedMs += next - end
    end = next
  }
  return { activeMs, waitedMs, totalMs: end - startedAt }
}

/** `active 1.88 s`, `active 1.88 s · waited 17.4 s for you`. */
export function timesText({ activeMs, waitedMs }: RunTimes): string {
  const active = `active ${duration(activeMs)}`
  return waitedMs > 0 ? `${active} · waited ${duration(waitedMs)} for you` : active
}

/** Whether a run was stopped with the default reason of `thread.stop()`, as this page does. */
export function isStoppedByUser(error: RunView['error']): boolean {
  return error?.message === 'stopped by the user'
}

/** `Done`, `You stopped this`, `Failed: …`, `The budget of $2.00 for this run is spent.` */
export function endText({ outcome, error, limit }: RunView): string {
  if (outcome === 'canceled' && isStoppedByUser(error)) return 'You stopped this'
  if (limit) return limitText(limit)
  const label = outcomeLabels[outcome as Outcome]
  return error ? `${label}: ${error.message}` : label
}

/** `1,204 tokens in, 88 out, 75% from cache`; undefined if no tokens were counted. */
export function usageText({ usage }: RunView): string | undefined {
  const { inputTokens, outputTokens, cacheReadTokens } = usage
  if (inputTokens + outputTokens === 0) return undefined
  const counted = `${number(inputTokens)} tokens in, ${number(outputTokens)} out`
  if (cacheReadTokens === 0) return counted
  return `${counted}, ${Math.round((100 * cacheReadTokens) / inputTokens)}% from cache`
}
