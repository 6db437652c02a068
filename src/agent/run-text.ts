import type { OptionTable, RunEvent } from '../protocol/index.ts'
import { aFunction, checkOptions, invalidInput, isObject, kindOf, yesOrNo } from '../protocol/index.ts'

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
  return hold ? heldText() : liveText(onRetract)
}

function liveText(onRetract: TextOptions['onRetract']) {
  /** Everything yielded that still stands; only known where it is asked for. */
  let kept = ''
  /** How many characters of it belong to the current round. */
  let roundChars = 0
  return (event: RunEvent) => {
    switch (event.type) {
      case 'round-start':
        roundChars = 0
        return undefined
      case 'text':
        roundChars += event.text.length
        if (onRetract) kept += event.text
        return event.text
      case 'round-retract':
        if (roundChars === 0) return undefined
        kept = kept.slice(0, -roundChars)
        roundChars = 0
        if (!onRetract) return retractNotice
        onRetract(kept)
        return undefined
      default:
        return undefined
    }
  }
}

function heldText() {
  let held = ''
  let isKept = false
  function release() {
    const words = held
    held = ''
    return words || undefined
  }
  return (event: RunEvent) => {
    switch (event.type) {
      case 'round-start':
        isKept = false
        return undefined
      case 'text':
        if (isKept) return event.text
        held += event.text
        return undefined
      case 'tool-start':
        // A round is never retracted from here on: that would run the call twice.
        isKept = true
        return release()
      case 'round-end':
        return release()
      case 'round-retract':
        held = ''
        return undefined
      default:
        return undefined
    }
  }
}
