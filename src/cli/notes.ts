import type { ThreadEvent, ToolResultEvent } from '../protocol/index.ts'
import { inWords } from './duration.ts'
import { cleanLine, clip, progressWords, wordsOf } from './terminal/index.ts'

/** One line on what happened besides the words, for a log or a reader; nothing if that is not worth one. */
export type NoteOf = (event: ThreadEvent) => string | undefined

export function noteTaker(): NoteOf {
  const names = new Map<string, string>()
  /** Of the sub-agents that calls run. */
  const inner = new Map<string, NoteOf>()

  return function noteOf(event) {
    switch (event.type) {
      case 'tool-call':
        names.set(event.callId, event.name)
        return named(event.name, event.raw ?? JSON.stringify(event.input))
      case 'tool-progress': {
        if (!event.event) return named(names.get(event.callId) ?? event.callId, progressWords(event.data))
        const below = inner.get(event.callId) ?? noteTaker()
        inner.set(event.callId, below)
        const note = below(event.event)
        return note && `  ${note}`
      }
      case 'tool-result':
        inner.delete(event.callId)
        return named(event.name, resultWords(event))
      case 'provider-tool':
        return event.output === undefined ? named(event.name, wordsOf(event.input ?? '')) : undefined
      case 'round-retry':
        return `${cleanLine(event.error.message)}: trying again${event.delayMs >= 100 ? ` in ${inWords(event.delayMs)}` : ''}`
      case 'round-retract':
        return `what was said last is taken back and told again: ${cleanLine(event.reason)}`
      default:
        return undefined
    }
  }
}

function named(name: string, words: string): string {
  return `[${cleanLine(name)}] ${clip(cleanLine(words), 200)}`.trimEnd()
}

function resultWords({ status, ms, output }: ToolResultEvent): string {
  const after = ms > 0 ? ` after ${inWords(ms)}` : ''
  if (status === 'ok') return `done in ${inWords(ms)}`
  if (status === 'cancelled') return `stopped${after}`
  const text = output.map((part) => (part.type === 'text' ? part.text : '')).join(' ')
  return `${status}${after}: ${text.replace(/^The tool failed: /, '')}`
}
