import type { RoundView } from 'millrace/view'
import { number } from '../format.ts'

export const speedText = (speed: number) => `${number(Number(speed.toPrecision(3)))} tokens/s`

/** The time to the first token: measured by the process if known, otherwise from the log. */
export function firstTokenMs({ end, firstAt, startedAt }: RoundView): number | undefined {
  return end?.timings?.firstEventMs ?? (firstAt && firstAt - startedAt)
}

export function roundMs({ end, endedAt, startedAt }: RoundView): number | undefined {
  return end?.timings?.ms ?? (endedAt && endedAt - startedAt)
}

/** The output tokens of rounds, and the time in which a model generated them. */
export function generation(rounds: readonly RoundView[]): { readonly tokens: number; readonly ms: number } {
  let tokens = 0
  let ms = 0
  for (const round of rounds) {
    tokens += round.end?.usage?.outputTokens ?? 0
    if (round.end?.usage) ms += (roundMs(round) ?? 0) - (firstTokenMs(round) ?? 0)
  }
  return { tokens, ms }
}

/** The output speed, counting only the time in which a model generated. */
export function tokensPerSecond(rounds: readonly RoundView[]): number | undefined {
  const { tokens, ms } = generation(rounds)
  return tokens > 0 && ms > 0 ? (tokens * 1000) / ms : undefined
}

/** Why the model stopped: `tool-calls`, `stop`, …; or why that is not known. */
export function finishOf({ end, retracted, run: { outcome } }: RoundView): string {
  return end?.finish ?? (retracted ? 'retracted' : outcome ? 'not finished' : 'running')
}
