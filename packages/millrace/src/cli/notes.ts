import type { ToolResultEvent } from '../protocol/index.ts'
import type { Change } from '../view/index.ts'
import { formatDuration } from './duration.ts'
import { cleanLine, clip, inputOf, progressText } from './terminal/index.ts'

/** One line about a change other than text, such as a tool call; undefined if it needs none. */
export function noteOf({ call, state, progress, inner, retry, round }: Change): string | undefined {
  if (retry)
    return `${cleanLine(retry.error.message)}; retrying${retry.delayMs >= 100 ? ` in ${formatDuration(retry.delayMs)}` : ''}`
  if (round?.retracted)
    return `partial answer retracted, generating it again: ${cleanLine(round.retracted.reason)}`
  if (!call) return undefined
  const { name, provider, approvals, result } = call
  if (inner) {
    const note = noteOf(inner)
    return note && `  ${note}`
  }
  if (provider) return provider.output === undefined ? callNote(name, inputOf(call)) : undefined
  if (progress !== undefined) return callNote(name, progressText(progress))
  if (!state) return undefined
  if (result) return callNote(name, resultText(result))
  // Only once: after an approval the call is queued again.
  return state === 'queued' && approvals.length === 0 ? callNote(name, inputOf(call)) : undefined
}

function callNote(name: string, text: string): string {
  return `[${cleanLine(name)}] ${clip(cleanLine(text), 200)}`.trimEnd()
}

function resultText({ status, ms, output }: ToolResultEvent): string {
  const after = ms > 0 ? ` after ${formatDuration(ms)}` : ''
  if (status === 'ok') return `done in ${formatDuration(ms)}`
  if (status === 'canceled') return `stopped${after}`
  const text = output.map((part) => (part.type === 'text' ? part.text : '')).join(' ')
  return `${status}${after}: ${text.replace(/^The tool failed: /, '')}`
}
