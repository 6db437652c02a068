import type { Outcome, RunView } from 'millrace/view'
import { limitText } from 'millrace/view'
import { duration, number } from '../format.ts'
import { outcomeLabels } from './strings.ts'

/** How long processes worked on the run, without waits for a user or between two processes. */
export function activeMs({ legs, lastAt }: RunView): number {
  let ms = 0
  for (const { at, endedAt = lastAt } of legs) ms += endedAt - at
  return ms
}

/** Whether a run was stopped with the default reason of `thread.stop()`, as this page does. */
export function isStoppedByUser(error: RunView['error']): boolean {
  return error?.message === 'stopped by the user'
}

/** `Done in 3.2 s`, `You stopped this after 2.4 s`, `Failed after 410 ms: …`, `The budget of $2.00 for this run is spent. Stopped after 3.2 s`. */
export function endText(run: RunView): string {
  const { outcome, error, limit } = run
  const took = roundedDuration(activeMs(run))
  if (outcome === 'canceled' && isStoppedByUser(error)) return `You stopped this after ${took}`
  if (limit) return `${limitText(limit)} Stopped after ${took}`
  const text = `${outcomeLabels[outcome as Outcome]} ${outcome === 'completed' ? 'in' : 'after'} ${took}`
  return error ? `${text}: ${error.message}` : text
}

function roundedDuration(ms: number): string {
  return ms >= 999.5 && ms < 9950 ? `${(ms / 1000).toFixed(1)} s` : duration(ms)
}

/** `1,204 tokens in, 88 out, 75% from cache`; undefined if no tokens were counted. */
export function usageText({ usage }: RunView): string | undefined {
  const { inputTokens, outputTokens, cacheReadTokens } = usage
  if (inputTokens + outputTokens === 0) return undefined
  const counted = `${number(inputTokens)} tokens in, ${number(outputTokens)} out`
  if (cacheReadTokens === 0) return counted
  return `${counted}, ${Math.round((100 * cacheReadTokens) / inputTokens)}% from cache`
}
