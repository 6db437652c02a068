import type { DoneEvent, ModelEvent, RestartEvent } from '../protocol/index.ts'
import { MillraceError } from '../protocol/index.ts'

/** What a model says in a round. */
export type Said = Exclude<ModelEvent, RestartEvent | DoneEvent>

/** Compares what a resumed generation repeats after its checkpoint with what the log already has. Deltas may be cut anywhere. */
export interface CatchUp {
  /** Everything that the log has was repeated. */
  readonly done: boolean
  /**
   * `known` is the part of this event that is in the log, `fresh` the part that is not. `callId` is the id under which the log has
   * the call of a `tool-input`. Throws if the log has something else at this place.
   */
  take(event: Said, callId?: string): { readonly known?: Said; readonly fresh?: Said }
}

export function catchUp(past: readonly Said[]): CatchUp {
  const lines = past.filter(({ type }) => type !== 'tool-input')
  /** The arguments of each call that were not repeated yet. */
  const inputs = new Map<string, string>()
  for (const event of past)
    if (event.type === 'tool-input') inputs.set(event.callId, (inputs.get(event.callId) ?? '') + event.delta)
  let at = 0
  /** How many characters of the text at this place were repeated. */
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
  const message = 'the provider continued with a different answer from the one it began'
  return new MillraceError({ op: 'model.stream', code: 'stream_error', message, retryable: false })
}
