import type { CallView, RoundView, RunView } from 'millrace/view'
import type { Figures } from '../detail/measures.ts'
import { figuresFrom, runFigures } from '../detail/measures.ts'
import { pretty } from '../format.ts'
import type { Piece, Step } from './word-diff.ts'
import { diff, wordDiff } from './word-diff.ts'

/** One of two runs that are compared, or the part of a run from a round on. */
export interface Side {
  readonly label: string
  readonly run: RunView
  readonly round?: RoundView | undefined
}

export function roundsOf({ run, round }: Omit<Side, 'label'>): readonly RoundView[] {
  const rounds = round ? run.rounds.slice(run.rounds.indexOf(round)) : run.rounds
  return rounds.filter(({ retracted }) => !retracted)
}

export function figuresOf({ run, round }: Side, at: number): Figures {
  return round ? figuresFrom(round, at) : runFigures(run, at)
}

/** All text that the model wrote. */
export function answerOf(side: Side): string {
  return roundsOf(side)
    .flatMap(({ parts }) =>
      parts.flatMap((part) => (part.kind === 'text' ? [part.text.pieces.join('').trim()] : [])),
    )
    .join('\n\n')
}

function callsOf(side: Side): readonly CallView[] {
  return roundsOf(side)
    .flatMap(({ calls }) => calls)
    .filter(({ budget }) => !budget)
}

export function modelsOf(side: Omit<Side, 'label'>): string {
  return [...new Set(roundsOf(side).map(({ model }) => model))].join(', ') || '–'
}

/** Calls in order, matched by name. */
export function matchedCalls(before: Side, after: Side): Step<CallView>[] {
  return diff(callsOf(before), callsOf(after), (one, other) => one.name === other.name)
}

/** The arguments of two calls; undefined if they are the same. */
export function argumentDiff(before: CallView, after: CallView): Piece[] | undefined {
  const [old, now] = [argumentsOf(before), argumentsOf(after)]
  return old === now ? undefined : wordDiff(old, now)
}

export function argumentsOf({ input, changedInput, raw, provider }: CallView): string {
  const value = changedInput ?? input ?? provider?.input
  return value === undefined ? raw.pieces.join('') : pretty(value)
}
