import type { OptionTable, RunEvent } from '../protocol/index.ts'
import { aFunction, checkOptions, invalidInput, isObject, kindOf, yesOrNo } from '../protocol/index.ts'
import type { Change } from '../view/index.ts'
import { createView, take, wordsOf } from '../view/index.ts'

/** What `text()` does about words that are retracted. Without an option it yields a line that says so. */
export interface TextOptions {
  /**
   * Yields only words that can no longer be retracted: those of a round come at its end, or as they are generated once one of its
   * tools has started.
   */
  readonly hold?: boolean | undefined
  /** Called instead, in order with the words, with the text that still stands. What it throws rejects `next()` and ends the reading. */
  readonly onRetract?: ((kept: string) => void) | undefined
}

/** What `text()` yields between retracted words and their replacement. */
export const retractNotice = '\n[stream interrupted, answer restarts]\n'

const table: OptionTable<TextOptions> = { hold: yesOrNo, onRetract: aFunction }

/** Takes the events of a run in order and gives what `text()` yields at each. Throws `invalid_input` naming the option. */
export function textReader(options: TextOptions = {}): (event: RunEvent) => string | undefined {
  const op = 'run.text'
  if (!isObject(options as unknown))
    throw invalidInput(op, `text() takes an object of options, not ${kindOf(options)}`)
  checkOptions(options, table, { op, what: 'text(): the option' })
  const { hold, onRetract } = options
  if (hold && onRetract)
    throw invalidInput(
      op,
      'text() takes either hold or onRetract: with hold nothing that it has yielded is ever retracted',
    )
  const view = createView({ keep: 'round' })
  const pick = hold ? heldText() : liveText(onRetract)
  return (event) => pick(take(view, { seq: 0, at: 0, event }))
}

function liveText(onRetract: TextOptions['onRetract']) {
  /** Everything yielded that still stands; only known where it is asked for. */
  let kept = ''
  return ({ text, round, delta }: Change) => {
    if (text?.kind === 'text') {
      if (onRetract) kept += delta
      return delta
    }
    const words = round?.retracted ? wordsOf(round) : ''
    if (!words) return undefined
    if (!onRetract) return retractNotice
    kept = kept.slice(0, -words.length)
    onRetract(kept)
    return undefined
  }
}

function heldText() {
  /** The words of the current round so far were yielded. */
  let isYielded = false
  return ({ text, call, round, delta }: Change) => {
    if (text) return isYielded && text.kind === 'text' ? delta : undefined
    // A round is never retracted once a call of it has started: that would run the call twice.
    const kept = call?.attempts ? call.round : round?.end && round
    const words = kept && !isYielded ? wordsOf(kept) : ''
    isYielded = kept !== undefined || (isYielded && !round)
    return words || undefined
  }
}
