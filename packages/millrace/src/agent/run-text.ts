import type { OptionTable, RunEvent } from '../protocol/index.ts'
import { aFunction, checkOptions, invalidInput, isObject, kindOf, yesOrNo } from '../protocol/index.ts'
import type { Change } from '../view/index.ts'
import { applyEntry, createView, roundText } from '../view/index.ts'

/** How `text()` handles retracted text. Without an option, it yields a line that says so. */
export interface TextOptions {
  /**
   * Yields only text that can no longer be retracted: at the end of a round, or as it is generated
   * once a tool of the round has started.
   */
  readonly hold?: boolean | undefined
  /**
   * Called instead, in order with the text, with the text that remains. If it throws, `next()`
   * rejects and the iteration ends.
   */
  readonly onRetract?: ((kept: string) => void) | undefined
}

/** What `text()` yields between retracted text and its replacement. */
export const retractNotice = '\n[stream interrupted, answer restarts]\n'

const table: OptionTable<TextOptions> = { hold: yesOrNo, onRetract: aFunction }

/**
 * Returns a function that takes each event of a run in order and returns the text to yield. Throws
 * `invalid_input` naming the option.
 */
export function textReader(options: TextOptions = {}): (event: RunEvent) => string | undefined {
  const op = 'run.text'
  if (!isObject(options as unknown))
    throw invalidInput(op, `text() takes an object of options, not ${kindOf(options)}`)
  checkOptions(options, table, { op, what: 'text(): the option' })
  const { hold, onRetract } = options
  if (hold && onRetract)
    throw invalidInput(
      op,
      'text() takes either hold or onRetract: with hold, yielded text is never retracted',
    )
  const view = createView({ keep: 'round' })
  const pick = hold ? heldText() : liveText(onRetract)
  return (event) => pick(applyEntry(view, { seq: 0, at: 0, event }))
}

function liveText(onRetract: TextOptions['onRetract']) {
  /** All yielded text that was not retracted; only tracked for `onRetract`. */
  let kept = ''
  return ({ text, round, delta }: Change) => {
    if (text?.kind === 'text') {
      if (onRetract) kept += delta
      return delta
    }
    const words = round?.retracted ? roundText(round) : ''
    if (!words) return undefined
    if (!onRetract) return retractNotice
    kept = kept.slice(0, -words.length)
    onRetract(kept)
    return undefined
  }
}

function heldText() {
  /** The text of the current round so far was yielded. */
  let isYielded = false
  return ({ text, call, round, delta }: Change) => {
    if (text) return isYielded && text.kind === 'text' ? delta : undefined
    // A round is never retracted once a call of it has started: that would run the call twice.
    const finalRound = call?.attempts ? call.round : round?.end && round
    const words = finalRound && !isYielded ? roundText(finalRound) : ''
    isYielded = finalRound !== undefined || (isYielded && !round)
    return words || undefined
  }
}
