import { retractNotice } from '../agent/index.ts'
import type { AnswerView } from './answer-view.ts'
import { noteOf } from './notes.ts'
import { deltaCleaner } from './terminal/index.ts'

export interface PlainViewOptions {
  readonly say: (words: string) => void
  /** Takes a line on what happens besides; absent if nobody wants to know. */
  readonly tell?: ((line: string) => void) | undefined
  /** Words and lines come out in the same place: a line waits for the end of the sentence that is being said. */
  readonly onePlace: boolean
  /** Words come out only once they can no longer be retracted: for a file, where they would stay. */
  readonly hold?: boolean
}

/** For a pipe, a file, a log or a terminal that can do nothing: words as they come, and a line for whatever happens besides. */
export function plainView({ say, tell, onePlace, hold = false }: PlainViewOptions): AnswerView {
  let cleanDelta = deltaCleaner()
  /** The end of what was said. */
  let said = ''
  let newRound = false
  /** A sentence was broken off for a line: what separates it from the next is there already. */
  let broken = false
  let notes: string[] = []
  /** Words of the current round were written. */
  let roundShown = false
  /** Words of the current round that wait. */
  let held = ''
  let roundKept = false

  function write(words: string) {
    if (!words) return
    say(words)
    said = (said + words).slice(-2)
  }

  function endLine() {
    if (said && !said.endsWith('\n')) write('\n')
  }

  function flushNotes() {
    if (!tell || notes.length === 0) return
    if (onePlace && said && !said.endsWith('\n')) {
      endLine()
      broken = true
    }
    for (const note of notes) tell(note)
    notes = []
  }

  function speak(text: string) {
    const words = cleanDelta(text)
    // What a model says before and after its calls are paragraphs of their own.
    if (newRound && words.trim()) {
      if (said) write(said.endsWith('\n\n') ? '' : said.endsWith('\n') ? '\n' : '\n\n')
      newRound = false
    }
    write(said && !broken ? words : words.trimStart())
    roundShown ||= words !== ''
    broken &&= !words.trim()
    if (/[.!?]\s$|\n$/.test(said)) flushNotes()
  }

  function release() {
    if (held) speak(held)
    held = ''
  }

  function retract() {
    held = ''
    cleanDelta = deltaCleaner()
    endLine()
    // The words come again: separate them, unless a note already does.
    if (roundShown && !(tell && onePlace)) write(retractNotice.trimStart())
    roundShown = false
  }

  return {
    take(change) {
      const { text, round, call, delta } = change
      if (text?.kind === 'text') {
        if (hold && !roundKept) held += delta
        else speak(delta)
        return
      }
      if (round?.retracted) retract()
      else if (round?.end) {
        release()
        endLine()
      } else if (round && !round.isRetry) {
        newRound = true
        roundShown = roundKept = false
      }
      // Once a call of it has started, a round is never retracted.
      if (call?.attempts) {
        roundKept = true
        release()
      }
      const note = noteOf(change)
      if (note) notes.push(note)
      // The model itself has paused elsewhere; a tool may report at any time.
      const midSentence = change.progress !== undefined || change.inner || call?.result
      if (!onePlace || !midSentence || said.endsWith('\n')) flushNotes()
    },
    end() {
      release()
      endLine()
      flushNotes()
    },
  }
}
