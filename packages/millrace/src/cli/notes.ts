import type { ToolResultEvent } from '../protocol/index.ts'
import type { Change } from '../view/index.ts'
import { inWords } from './duration.ts'
import { cleanLine, clip, inputOf, progressWords } from './terminal/index.ts'

/** One line on what happened besides the words, for a log or a reader; nothing if that is not worth one. */
export function noteOf({ call, state, progress, inner, retry, round }: Change): string | undefined {
  if (retry)
    return `${cleanLine(retry.error.message)}: trying again${retry.delayMs >= 100 ? ` in ${inWords(retry.delayMs)}` : ''}`
  if (round?.retracted)
    return `what was said last is taken back and told again: ${cleanLine(round.retracted.reason)}`
  if (!call) return undefined
  const { name, provider, approvals, result } = call
  if (inner) {
    const note = noteOf(inner)
    return note && `  ${note}`
  }
  if (provider) return provider.output === undefined ? named(name, inputOf(call)) : undefined
  if (progress !== undefined) return named(name, progressWords(progress))
  if (!state) return undefined
  if (result) return named(name, resultWords(result))
  // Once: after it was approved it waits for its turn again.
  return state === 'queued' && approvals.length === 0 ? named(name, inputOf(call)) : undefined
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
