import type { Outcome, RunView } from 'millrace/view'
import { duration, number } from '../format.ts'

export const outcomeWords: Readonly<Record<Outcome, string>> = {
  completed: 'Done',
  'max-rounds': 'Ended at the limit of rounds',
  truncated: 'Cut off at the limit of length',
  suspended: 'Waiting for you',
  cancelled: 'Stopped',
  failed: 'Failed',
}

/** How long somebody worked on it: neither the time a person took counts nor that between two processes. */
export function workedMs({ legs, lastAt }: RunView): number {
  let ms = 0
  for (const { at, endedAt = lastAt } of legs) ms += endedAt - at
  return ms
}

/** `Done in 3.20 s`, `Stopped after 410 ms: interrupted by a new message`. */
export function endWords(run: RunView): string {
  const { outcome, error } = run
  const words = `${outcomeWords[outcome as Outcome]} ${outcome === 'completed' ? 'in' : 'after'} ${duration(workedMs(run))}`
  return error ? `${words}: ${error.message}` : words
}

/** `1,204 tokens in, 88 out, 75 % from the cache`; undefined if nothing was counted. */
export function usageWords({ usage }: RunView): string | undefined {
  const { inputTokens, outputTokens, cacheReadTokens } = usage
  if (inputTokens + outputTokens === 0) return undefined
  const counted = `${number(inputTokens)} tokens in, ${number(outputTokens)} out`
  if (cacheReadTokens === 0) return counted
  return `${counted}, ${Math.round((100 * cacheReadTokens) / inputTokens)} % from the cache`
}
