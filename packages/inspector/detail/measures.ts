import type { RoundView, RunView, Spent, Usage } from 'millrace/view'
import { addSpent, countSpend, formatUsd, nothingSpent, totalCost } from 'millrace/view'
import { runTimes } from '../chat/outcome.ts'
import { costText, spentIn } from '../cost.ts'
import { duration, number } from '../format.ts'
import { firstTokenMs, generation, speedText } from './figures.ts'
import type { Fact } from './head.tsx'

/** The numbers of a run, of its part from a round on, or of a whole thread. */
export interface Figures {
  readonly rounds: number
  readonly calls: number
  readonly usage: TokenCounts
  readonly spent: Spent
  /** Of the first round of each run: their sum, and how many there are. */
  readonly firstTokens: { readonly ms: number; readonly count: number }
  /** The output tokens whose generation was timed, and its time. */
  readonly generated: { readonly tokens: number; readonly ms: number }
  readonly activeMs: number
  readonly waitedMs: number
}

type TokenCounts = Pick<
  Usage,
  'inputTokens' | 'cacheReadTokens' | 'cacheWriteTokens' | 'outputTokens' | 'reasoningTokens'
>

const tokenKinds = [
  'inputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'outputTokens',
  'reasoningTokens',
] as const

/** `at`: the current time, for a run that has not ended. */
export function runFigures(run: RunView, at: number): Figures {
  const { rounds, calls, usage, spent } = run
  const { activeMs, waitedMs } = runTimes(run, at)
  return { ...roundFigures(rounds), calls: calls.length, usage, spent, activeMs, waitedMs }
}

/** The part of a run from a round on, without what came before it. */
export function figuresFrom(round: RoundView, at: number): Figures {
  const { run } = round
  const rounds = run.rounds.slice(run.rounds.indexOf(round))
  const calls = rounds.flatMap((one) => one.calls)
  const legs = run.legs
    .filter(({ endedAt = Infinity }) => endedAt > round.startedAt)
    .map((leg) => ({ ...leg, at: Math.max(leg.at, round.startedAt) }))
  const { activeMs, waitedMs } = runTimes({ ...run, legs }, at)
  const inner = spentIn(calls.flatMap((call) => call.inner?.runs ?? []))
  for (const { result } of calls) if (result) countSpend(inner, result)
  const spent = rounds.map(spentOnRound).reduce(addSpent, inner)
  return { ...roundFigures(rounds), spent, activeMs, waitedMs }
}

/** What all requests of a round have cost, also those that failed. */
export function spentOnRound({ number: round, end, retries, retracted }: RoundView): Spent {
  const spent = nothingSpent()
  if (end) countSpend(spent, end)
  if (retracted) countSpend(spent, { type: 'round-retract', round, ...retracted })
  for (const { retry } of retries) countSpend(spent, retry)
  return spent
}

/** The tokens and the speed of one round. Its cost and its times are not counted. */
export function tokenFigures(round: RoundView): Figures {
  return { ...roundFigures([round]), rounds: 0, spent: nothingSpent(), activeMs: 0, waitedMs: 0 }
}

function roundFigures(rounds: readonly RoundView[]) {
  const first = rounds.map(firstTokenMs).find((ms) => ms !== undefined)
  return {
    rounds: rounds.length,
    calls: rounds.reduce((sum, { calls }) => sum + calls.length, 0),
    usage: addTokens(rounds.map(({ end }) => end?.usage)),
    firstTokens: { ms: first ?? 0, count: first === undefined ? 0 : 1 },
    generated: generation(rounds),
  }
}

export function addFigures(all: readonly Figures[]): Figures {
  const sum = (of: (one: Figures) => number) => all.reduce((total, one) => total + of(one), 0)
  return {
    rounds: sum(({ rounds }) => rounds),
    calls: sum(({ calls }) => calls),
    usage: addTokens(all.map(({ usage }) => usage)),
    spent: all.reduce((total, { spent }) => addSpent(total, spent), nothingSpent()),
    firstTokens: { ms: sum((one) => one.firstTokens.ms), count: sum((one) => one.firstTokens.count) },
    generated: { tokens: sum((one) => one.generated.tokens), ms: sum((one) => one.generated.ms) },
    activeMs: sum(({ activeMs }) => activeMs),
    waitedMs: sum(({ waitedMs }) => waitedMs),
  }
}

function addTokens(usages: readonly (Partial<TokenCounts> | undefined)[]): TokenCounts {
  const sums = tokenKinds.map(
    (kind) => [kind, usages.reduce((sum, usage) => sum + (usage?.[kind] ?? 0), 0)] as const,
  )
  return Object.fromEntries(sums) as unknown as TokenCounts
}

/** A number of a run that can be compared with that of another. */
export interface Measure {
  readonly label: string
  readonly value: (figures: Figures) => number | undefined
  readonly text: (value: number) => string
  /** In place of the value, where there is more to say. */
  readonly fullText?: (figures: Figures) => string | undefined
}

const tokens = (label: string, kind: (typeof tokenKinds)[number]): Measure => ({
  label,
  value: ({ usage }) => usage[kind],
  text: number,
})

export const measures: readonly Measure[] = [
  {
    label: 'Cost',
    value({ spent }) {
      const { knownUsd, unknown } = totalCost(spent)
      return unknown ? undefined : knownUsd
    },
    text: formatUsd,
    fullText: ({ spent }) => costText(spent),
  },
  { label: 'Active', value: ({ activeMs }) => activeMs, text: duration },
  { label: 'Waited for you', value: ({ waitedMs }) => waitedMs, text: duration },
  {
    label: 'First token',
    value: ({ firstTokens: { ms, count } }) => (count > 0 ? ms / count : undefined),
    text: duration,
    fullText: ({ firstTokens: { ms, count } }) =>
      count > 1 ? `${duration(ms / count)} on average` : undefined,
  },
  {
    label: 'Speed',
    value: ({ generated: { tokens: count, ms } }) => (count > 0 && ms > 0 ? (count * 1000) / ms : undefined),
    text: speedText,
  },
  { label: 'Rounds', value: ({ rounds }) => rounds, text: number },
  { label: 'Calls', value: ({ calls }) => calls, text: number },
  tokens('Input tokens', 'inputTokens'),
  {
    ...tokens('Read from cache', 'cacheReadTokens'),
    fullText: ({ usage: { inputTokens, cacheReadTokens: read } }) =>
      read > 0 ? `${number(read)} (${Math.round((100 * read) / inputTokens)}%)` : undefined,
  },
  tokens('Written to cache', 'cacheWriteTokens'),
  tokens('Output tokens', 'outputTokens'),
  tokens('Reasoning tokens', 'reasoningTokens'),
]

/** Whether there is more to show than a zero. */
export function isUsed({ value, fullText }: Measure, figures: Figures): boolean {
  return Boolean(value(figures) || fullText?.(figures))
}

export function factsOf(figures: Figures): Fact[] {
  return measures.flatMap((measure) =>
    isUsed(measure, figures) ? [[measure.label, measured(measure, figures)] as const] : [],
  )
}

/** The value as text; a dash if it is not known. */
export function measured({ value, text, fullText }: Measure, figures: Figures): string {
  const amount = value(figures)
  return fullText?.(figures) ?? (amount === undefined ? '–' : text(amount))
}

/** `+120 (+12%)`, `−0.3 s (−20%)`, `same`; undefined if one of them is not known. */
export function difference(measure: Measure, before: Figures, after: Figures): string | undefined {
  const [one, other] = [measure.value(before), measure.value(after)]
  if (one === undefined || other === undefined) return undefined
  if (one === other) return 'same'
  const sign = other > one ? '+' : '−'
  const share = Math.abs(other - one) / one
  const percent = one > 0 ? ` (${sign}${percentText(share)})` : ''
  const text = measure.text(Math.abs(other - one))
  // `<$0.0001` has no sign.
  return `${text.startsWith('<') ? '' : sign}${text}${percent}`
}

const percentText = (share: number) =>
  `${number(share < 0.1 ? Number((share * 100).toPrecision(2)) : Math.round(share * 100))}%`
