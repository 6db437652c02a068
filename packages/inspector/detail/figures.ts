import type { RoundView, Usage } from 'millrace/view'
import { number } from '../format.ts'
import type { Fact } from './head.tsx'

/** The time to the first token: measured by the process if known, otherwise from the log. */
export function firstTokenMs({ end, firstAt, startedAt }: RoundView): number | undefined {
  return end?.timings?.firstEventMs ?? (firstAt && firstAt - startedAt)
}

export function roundMs({ end, endedAt, startedAt }: RoundView): number | undefined {
  return end?.timings?.ms ?? (endedAt && endedAt - startedAt)
}

/** The output speed, counting only the time in which a model generated. */
export function tokensPerSecond(rounds: readonly RoundView[]): number | undefined {
  let tokens = 0
  let ms = 0
  for (const round of rounds) {
    tokens += round.end?.usage?.outputTokens ?? 0
    if (round.end?.usage) ms += (roundMs(round) ?? 0) - (firstTokenMs(round) ?? 0)
  }
  return tokens > 0 && ms > 0 ? (tokens * 1000) / ms : undefined
}

/** Token counts, cache hits and speed. */
export function usageFacts(usage: Partial<Usage> = {}, rounds: readonly RoundView[]): Fact[] {
  const { inputTokens, cacheReadTokens = 0 } = usage
  const speed = tokensPerSecond(rounds)
  return [
    ['Input tokens', inputTokens],
    ['Output tokens', usage.outputTokens],
    ['Reasoning tokens', usage.reasoningTokens],
    ['Read from cache', usage.cacheReadTokens],
    ['Written to cache', usage.cacheWriteTokens],
    ['Cache hits', inputTokens && `${Math.round((100 * cacheReadTokens) / inputTokens)}%`],
    ['Speed', speed && `${number(Number(speed.toPrecision(3)))} tokens/s`],
  ]
}
