import type { CallStatus, RunEvent, ToolResultEvent } from 'millrace'
import { cleanLine } from './clean.ts'

/** What there is to show of one tool call. */
export interface Call {
  readonly name: string
  /** The arguments as far as they have come. */
  input: string
  state: 'arriving' | 'waiting' | 'asking' | 'running' | 'done' | 'failed' | 'declined' | 'stopped'
  startedAt: number
  ms: number
  /** The latest progress, or what went wrong. */
  note: string
}

/** The calls of one exchange, folded from its events. */
export interface Calls {
  /** Takes one more event; gives the call it was about, if it was about one. */
  take(event: RunEvent): Call | undefined
  /** Those that were taken up since the last `clear`, in the order of their coming. */
  readonly shown: ReadonlySet<Call>
  clear(): void
}

export function callsOf(): Calls {
  const all = new Map<string, Call>()
  const shown = new Set<Call>()

  function apply(call: Call, event: RunEvent) {
    switch (event.type) {
      case 'tool-input':
        call.input += event.delta
        break
      case 'tool-call':
        call.input = event.raw ?? JSON.stringify(event.input)
        call.state = 'waiting'
        break
      case 'approval-request':
        call.state = 'asking'
        break
      case 'approval':
        call.state = 'waiting'
        break
      case 'tool-start':
        call.state = 'running'
        call.startedAt = performance.now()
        break
      case 'tool-progress':
        call.note =
          typeof event.data === 'string' ? event.data : JSON.stringify(event.data ?? event.event?.type)
        break
      case 'tool-result':
        call.ms = event.ms
        call.note = event.isError ? reasonOf(event) : ''
        call.state = stateOf(event.status)
    }
  }

  return {
    shown,
    clear: () => shown.clear(),
    take(event) {
      // A call that was still being written when the run ended has no result.
      if (event.type === 'run-end' && event.error)
        for (const call of shown) if (call.state === 'arriving') call.state = 'stopped'
      if (!('callId' in event)) return undefined
      const call = all.get(event.callId) ?? newCall('name' in event ? event.name : event.callId)
      all.set(event.callId, call)
      shown.add(call)
      apply(call, event)
      return call
    },
  }
}

function newCall(name: string): Call {
  return { name: cleanLine(name), input: '', state: 'arriving', startedAt: 0, ms: 0, note: '' }
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
  return text.replace(/^The tool failed: /, '')
}

/** How a call is doing, in a few words. */
export function statusOf({ state, startedAt, ms, note }: Call): string {
  const because = note && ` · ${cleanLine(note)}`
  switch (state) {
    case 'arriving':
    case 'waiting':
      return ''
    case 'asking':
      return 'asks you first'
    case 'running':
      return `running ${duration(performance.now() - startedAt)}${because}`
    case 'done':
      return `done in ${duration(ms)}`
    case 'failed':
      return `failed after ${duration(ms)}${because}`
    case 'declined':
      return 'declined'
    case 'stopped':
      return ms > 0 ? `stopped after ${duration(ms)}` : 'stopped'
  }
}

function duration(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`
}
