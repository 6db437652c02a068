import type { CallStatus, RunEvent, ThreadEvent, ToolResultEvent } from '../../protocol/index.ts'
import { cleanLine } from './clean.ts'
import { progressWords, wordsOf } from './progress-words.ts'

/** What there is to show of one tool call. */
export interface Call {
  readonly name: string
  /** The arguments as far as they have come; the beginning of long ones. */
  input: string
  state: 'arriving' | 'waiting' | 'asking' | 'running' | 'done' | 'failed' | 'declined' | 'stopped'
  /** When it began to run, in milliseconds since 1970. */
  startedAt: number
  /** How long it ran. */
  ms: number
  /** The latest progress, or what went wrong. */
  note: string
}

/** The calls of a conversation, folded from its events. */
export interface Calls {
  /** Takes one more event and when it was written; gives the call it was about, if it was about one. */
  take(event: ThreadEvent, at: number): Call | undefined
  /** Those that were taken up since the last `clear`, in the order of their coming. */
  readonly shown: ReadonlySet<Call>
  clear(): void
}

/** A line shows no more of the arguments, however long they are. */
const longestInput = 1000

export function callsOf(): Calls {
  const all = new Map<string, Call>()
  const shown = new Set<Call>()

  return {
    shown,
    clear: () => shown.clear(),
    take(event, at) {
      if (event.type === 'run-start' && event.resumes === undefined) all.clear()
      // A call that was still being written when the run ended has no result.
      if (event.type === 'run-end' && event.outcome !== 'suspended')
        for (const call of shown) if (call.state === 'arriving') call.state = 'stopped'
      if (!('callId' in event)) return undefined
      const call = all.get(event.callId) ?? newCall('name' in event ? event.name : event.callId)
      all.set(event.callId, call)
      shown.add(call)
      apply(call, event, at)
      return call
    },
  }
}

function newCall(name: string): Call {
  return { name: cleanLine(name), input: '', state: 'arriving', startedAt: 0, ms: 0, note: '' }
}

function apply(call: Call, event: ThreadEvent, at: number) {
  switch (event.type) {
    case 'tool-input':
      if (call.input.length < longestInput) call.input = (call.input + event.delta).slice(0, longestInput)
      break
    case 'tool-call':
      call.input = (event.raw ?? JSON.stringify(event.input)).slice(0, longestInput)
      call.state = 'waiting'
      break
    case 'approval-request':
      call.input = JSON.stringify(event.input).slice(0, longestInput)
      call.state = 'asking'
      break
    case 'approval':
      call.state = event.approved ? 'waiting' : 'declined'
      break
    case 'tool-start':
      if (event.input) call.input = JSON.stringify(event.input).slice(0, longestInput)
      call.state = 'running'
      call.startedAt = at
      call.note = ''
      break
    case 'tool-progress':
      call.note = event.event ? inner(call.note, event.event) : progressWords(event.data)
      break
    case 'tool-result':
      call.ms = event.ms
      call.note = event.isError ? reasonOf(event) : ''
      call.state = stateOf(event.status)
      break
    case 'provider-tool':
      if (event.input !== undefined) call.input = wordsOf(event.input).slice(0, longestInput)
      call.state = event.isError ? 'failed' : event.output === undefined ? 'waiting' : 'done'
  }
}

/** What a sub-agent is at: the end of what it says, or the tool that it uses. */
function inner(note: string, event: RunEvent): string {
  if (event.type === 'text') return (note + event.text).slice(-200)
  if (event.type === 'tool-call') return `${event.name} …`
  return event.type === 'round-start' ? '' : note
}

function stateOf(status: CallStatus): Call['state'] {
  switch (status) {
    case 'ok':
      return 'done'
    case 'declined':
      return 'declined'
    case 'cancelled':
      return 'stopped'
    default:
      return 'failed'
  }
}

function reasonOf({ output }: ToolResultEvent): string {
  const text = output.map((part) => (part.type === 'text' ? part.text : '')).join(' ')
  return text.replace(/^The tool failed: /, '').slice(0, longestInput)
}

/** How a call is doing, in a few words. `now` is in milliseconds since 1970. */
export function statusOf({ state, startedAt, ms, note }: Call, now: number): string {
  const because = note && ` · ${cleanLine(note)}`
  switch (state) {
    case 'arriving':
    case 'waiting':
      return ''
    case 'asking':
      return 'asks you first'
    case 'running':
      return `running ${secondsOf(Math.max(0, now - startedAt))}${because}`
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
