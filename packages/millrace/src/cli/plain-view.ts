import { retractNotice } from '../agent/index.ts'
import type { AnswerView } from './answer-view.ts'
import { noteOf } from './notes.ts'
import { deltaCleaner } from './terminal/index.ts'

export interface PlainViewOptions {
  readonly print: (text: string) => void
  /** Writes a line about tool calls, retries and the like. Absent if they are not shown. */
  readonly note?: ((line: string) => void) | undefined
  /** Text and notes go to the same place, so a note waits for the end of the sentence. */
  readonly interleaved: boolean
  /** Holds text back until it can no longer be retracted. For files. */
  readonly hold?: boolean
}

/** For pipes, files, logs and dumb terminals: text as it streams, and a line for everything else. */
export function plainView({ print, note, interleaved, hold = false }: PlainViewOptions): AnswerView {
  let cleanDelta = deltaCleaner()
  /** The last two characters written. */
  let tail = ''
  let newRound = false
  /** A note interrupted a sentence, so no separator is needed before the next text. */
  let interrupted = false
  let notes: string[] = []
  /** Text of the current round was written. */
  let roundShown = false
  /** Text of the current round that is held back. */
  let held = ''
  let roundKept = false

  function write(text: string) {
    if (!text) return
    print(text)
    tail = (tail + text).slice(-2)
  }

  function endLine() {
    if (tail && !tail.endsWith('\n')) write('\n')
  }

  function flushNotes() {
    if (!note || notes.length === 0) return
    if (interleaved && tail && !tail.endsWith('\n')) {
      endLine()
      interrupted = true
    }
    for (const line of notes) note(line)
    notes = []
  }

  function addText(delta: string) {
    const text = cleanDelta(delta)
    // Text before and after tool calls forms separate paragraphs.
    if (newRound && text.trim()) {
      if (tail) write(tail.endsWith('\n\n') ? '' : tail.endsWith('\n') ? '\n' : '\n\n')
      newRound = false
    }
    write(tail && !interrupted ? text : text.trimStart())
    roundShown ||= text !== ''
    interrupted &&= !text.trim()
    if (/[.!?]\s$|\n$/.test(tail)) flushNotes()
  }

  function release() {
    if (held) addText(held)
    held = ''
  }

  function retract() {
    held = ''
    cleanDelta = deltaCleaner()
    endLine()
    // The text is generated again: separate it, unless a note already does.
    if (roundShown && !(note && interleaved)) write(retractNotice.trimStart())
    roundShown = false
  }

  return {
    take(change) {
      const { text, round, call, delta } = change
      if (text?.kind === 'text') {
        if (hold && !roundKept) held += delta
        else addText(delta)
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
      // A round is never retracted once one of its tool calls has started.
      if (call?.attempts) {
        roundKept = true
        release()
      }
      const line = noteOf(change)
      if (line) notes.push(line)
      // Tools may report in the middle of a sentence; other changes come between sentences.
      const midSentence = change.progress !== undefined || change.inner || call?.result
      if (!interleaved || !midSentence || tail.endsWith('\n')) flushNotes()
    },
    end() {
      release()
      endLine()
      flushNotes()
    },
  }
}
