import type { ToolResultEvent } from '../../protocol/index.ts'
import { textFrom } from '../../protocol/index.ts'
import type { CallState, CallView, GrowingText } from '../../view/index.ts'
import { cleanLine } from './clean.ts'
import { progressWords, wordsOf } from './progress-words.ts'

/** How a call looks in its line. */
export type CallLook =
  | 'arriving'
  | 'waiting'
  | 'asking'
  | 'running'
  | 'done'
  | 'failed'
  | 'declined'
  | 'stopped'

const looks: Readonly<Record<CallState, CallLook>> = {
  writing: 'arriving',
  queued: 'waiting',
  asking: 'asking',
  running: 'running',
  ok: 'done',
  failed: 'failed',
  timeout: 'failed',
  rejected: 'failed',
  blocked: 'failed',
  unknown: 'failed',
  declined: 'declined',
  cancelled: 'stopped',
}

export function lookOf({ state, provider, result }: CallView): CallLook {
  if (provider && state === 'running') return 'waiting'
  // A call that was still being written when its round ended has no result.
  return state === 'rejected' && !result ? 'stopped' : looks[state]
}

/** A line shows no more of the arguments, however long they are. */
const longestInput = 1000

/** Arguments as JSON, which are drawn ten times a second. */
const written = new WeakMap<object, string>()

/** The arguments as far as they have come; the beginning of long ones. */
export function inputOf(call: CallView): string {
  const { provider, changed, problem, raw } = call
  if (provider) return wordsOf(provider.input ?? '').slice(0, longestInput)
  const asked = call.approvals.find(({ request }) => request.callId === call.callId)
  const input = changed ?? asked?.request.input ?? (problem === undefined ? call.input : undefined)
  if (!input) return beginningOf(raw)
  const known = written.get(input) ?? JSON.stringify(input).slice(0, longestInput)
  written.set(input, known)
  return known
}

function beginningOf({ pieces }: GrowingText): string {
  let text = ''
  for (const piece of pieces) {
    text += piece
    if (text.length >= longestInput) return text.slice(0, longestInput)
  }
  return text
}

/** The latest progress, or what went wrong. */
export function callNote({ result, inner, progress }: CallView): string {
  if (result) return result.isError ? reasonOf(result) : ''
  // What a sub-agent is at: the end of what it says, or the tool that it uses.
  const part = inner?.open.round?.parts.findLast(({ kind }) => kind !== 'reasoning')
  if (part?.kind === 'call') return `${part.name} …`
  if (part) return textFrom(part.text.pieces, Math.min(200, part.text.chars))
  return progress.length > 0 ? progressWords(progress.at(-1)) : ''
}

function reasonOf({ output }: ToolResultEvent): string {
  const text = output.map((part) => (part.type === 'text' ? part.text : '')).join(' ')
  return text.replace(/^The tool failed: /, '').slice(0, longestInput)
}

/** How a call is doing, in a few words. `now` is in milliseconds since 1970. */
export function statusOf(call: CallView, now: number): string {
  const ms = call.result?.ms ?? 0
  const note = callNote(call)
  const because = note && ` · ${cleanLine(note)}`
  switch (lookOf(call)) {
    case 'arriving':
    case 'waiting':
      return ''
    case 'asking':
      return 'asks you first'
    case 'running':
      return `running ${secondsOf(Math.max(0, now - (call.startedAt ?? now)))}${because}`
    case 'done':
      return ms > 0 ? `done in ${secondsOf(ms)}` : 'done'
    case 'failed':
      return `${ms > 0 ? `failed after ${secondsOf(ms)}` : 'failed'}${because}`
    case 'declined':
      return 'declined'
    case 'stopped':
      return ms > 0 ? `stopped after ${secondsOf(ms)}` : 'stopped'
  }
}

function secondsOf(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  return ms < 60_000
    ? `${(ms / 1000).toFixed(1)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.floor(ms / 1000) % 60} s`
}
