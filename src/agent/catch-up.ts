import type { DoneEvent, ModelEvent, RestartEvent } from '../protocol/index.ts'
import { MillraceError } from '../protocol/index.ts'

/** What a model says in a round. */
export type Said = Exclude<ModelEvent, RestartEvent | DoneEvent>

/** Holds what a generation says again after its checkpoint against what the log has of it. Deltas may be cut anywhere. */
export interface CatchUp {
  /** Everything in the log has come again. */
  readonly done: boolean
  /**
   * `known` is what stands in the log of this event, `fresh` what does not. `callId` is the id that the log has for the call of a
   * `tool-input`. Throws if the log has something else.
   */
  take(event: Said, callId?: string): { readonly known?: Said; readonly fresh?: Said }
}

export function catchUp(past: readonly Said[]): CatchUp {
  const lines = past.filter(({ type }) => type !== 'tool-input')
  /** The arguments of each call that have yet to come again. */
  const inputs = new Map<string, string>()
  for (const event of past)
    if (event.type === 'tool-input') inputs.set(event.callId, (inputs.get(event.callId) ?? '') + event.delta)
  let at = 0
  /** How much of the text at this place has come again. */
  let offset = 0

  function takeText(event: Extract<Said, { text: string }>) {
    let { text } = event
    for (let line = lines[at]; line && text !== ''; line = lines[at]) {
      if (line.type !== event.type) throw otherwise()
      const left = line.text.slice(offset)
      const taken = left.slice(0, text.length)
      if (!text.startsWith(taken)) throw otherwise()
      text = text.slice(taken.length)
      offset += taken.length
      if (offset < line.text.length) break
      at++
      offset = 0
    }
    return text === '' ? {} : { fresh: { ...event, text } }
  }

  function takeInput(event: Extract<Said, { type: 'tool-input' }>, callId: string) {
    const left = inputs.get(callId) ?? ''
    const known = left.slice(0, event.delta.length)
    if (!event.delta.startsWith(known)) throw otherwise()
    inputs.set(callId, left.slice(known.length))
    const fresh = event.delta.slice(known.length)
    return {
      ...(known !== '' && { known: { ...event, delta: known } }),
      ...(fresh !== '' && { fresh: { ...event, delta: fresh } }),
    }
  }

  return {
    get done() {
      return at === lines.length
    },
    take(event, callId = '') {
      if (event.type === 'text' || event.type === 'reasoning') return takeText(event)
      if (event.type === 'tool-input') return takeInput(event, callId)
      const line = lines[at]
      if (!line) return { fresh: event }
      if (offset > 0 || line.type !== event.type || nameOf(line) !== nameOf(event)) throw otherwise()
      at++
      return { known: line }
    },
  }
}

function nameOf(event: Said): string | undefined {
  return 'name' in event ? event.name : undefined
}

function otherwise(): MillraceError {
  const message = 'the provider went on with another answer than the one it had begun'
  return new MillraceError({ op: 'model.stream', code: 'stream_error', message, retryable: false })
}
