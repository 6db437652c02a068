import type { Entry, ThreadState } from '../protocol/index.ts'
import { foldText, spentIn, textOf } from '../protocol/index.ts'
import type { ThreadFacts, ThreadText } from './store.ts'

/** Collects what lists and searches need to know of a thread, entry by entry. */
export interface FactFinder {
  /** How many characters it holds. */
  readonly chars: number
  add(entry: Entry): void
  /** `known` forgets what these facts contain. */
  facts(state: ThreadState): { readonly facts: ThreadFacts; known(): void }
}

/** Searches find no more than this of a message. */
const maxChars = 64 * 1024

export function factFinder(): FactFinder {
  let texts: Pick<ThreadText, 'seq' | 'text'>[] = []
  let chars = 0
  let tools = new Set<string>()
  /** The text of the current round. */
  let pieces: string[] = []

  function addText(seq: number, whole: string) {
    // A database stores neither lone surrogates nor, in some cases, NUL.
    const text = whole.slice(0, maxChars).toWellFormed().replaceAll('\0', ' ')
    if (!text.trim()) return
    texts.push({ seq, text })
    chars += text.length
  }

  function endRound(seq: number) {
    if (pieces.length > 0) addText(seq, pieces.join(''))
    pieces = []
  }

  return {
    get chars() {
      return chars
    },
    add({ seq, event }) {
      if (event.type === 'text') pieces.push(event.text)
      else if (event.type === 'input') addText(seq, textOf(event.message))
      else if (event.type === 'tool-start') tools.add(event.name)
      else if (event.type === 'round-retract') pieces = []
      // A round whose process died has no end.
      else if (['round-start', 'round-end', 'run-end'].includes(event.type)) endRound(seq)
    },
    facts(state) {
      const [oldTexts, oldTools] = [new Set(texts), new Set(tools)]
      return {
        facts: {
          outcome: state.run?.outcome,
          error: state.error?.code,
          nanos: spentIn(state).nanos,
          tools: [...tools],
          texts: texts.map(({ seq, text }) => ({ seq, text, search: foldText(text) })),
        },
        known() {
          texts = texts.filter((text) => !oldTexts.has(text))
          chars = texts.reduce((sum, { text }) => sum + text.length, 0)
          tools = new Set([...tools].filter((name) => !oldTools.has(name)))
        },
      }
    },
  }
}
