import type { DoneEvent, ModelEvent, RestartEvent } from '../protocol/index.ts'
import { MillraceError } from '../protocol/index.ts'

/** A model event with content of the round. */
export type ContentEvent = Exclude<ModelEvent, RestartEvent | DoneEvent>

/**
 * Compares the events that a resumed generation repeats with those in the log. Deltas may be split
 * anywhere.
 */
export interface CatchUp {
  /** True once everything in the log was repeated. */
  isDone(): boolean
  /**
   * `known` is the part of this event that is in the log, `fresh` the part that is not. For a
   * `tool-input`, `callId` is the call's id in the log. Throws if the log has different content
   * here.
   */
  match(
    event: ContentEvent,
    callId?: string,
  ): { readonly known?: ContentEvent; readonly fresh?: ContentEvent }
}

export function catchUp(logged: readonly ContentEvent[]): CatchUp {
  const expected = logged.filter(({ type }) => type !== 'tool-input')
  /** The arguments of each call that have not been repeated yet. */
  const inputs = new Map<string, string>()
  for (const event of logged)
    if (event.type === 'tool-input') inputs.set(event.callId, (inputs.get(event.callId) ?? '') + event.delta)
  let at = 0
  /** How many characters of the current text were repeated. */
  let offset = 0

  function matchText(event: Extract<ContentEvent, { text: string }>) {
    let { text } = event
    for (let line = expected[at]; line && text !== ''; line = expected[at]) {
      if (line.type !== event.type) throw diverged()
      const left = line.text.slice(offset)
      const matched = left.slice(0, text.length)
      if (!text.startsWith(matched)) throw diverged()
      text = text.slice(matched.length)
      offset += matched.length
      if (offset < line.text.length) break
      at++
      offset = 0
    }
    return text === '' ? {} : { fresh: { ...event, text } }
  }

  function matchInput(event: Extract<ContentEvent, { type: 'tool-input' }>, callId: string) {
    const left = inputs.get(callId) ?? ''
    const known = left.slice(0, event.delta.length)
    if (!event.delta.startsWith(known)) throw diverged()
    inputs.set(callId, left.slice(known.length))
    const fresh = event.delta.slice(known.length)
    return {
      ...(known !== '' && { known: { ...event, delta: known } }),
      ...(fresh !== '' && { fresh: { ...event, delta: fresh } }),
    }
  }

  return {
    isDone: () => at === expected.length,
    match(event, callId = '') {
      if (event.type === 'text' || event.type === 'reasoning') return matchText(event)
      if (event.type === 'tool-input') return matchInput(event, callId)
      const line = expected[at]
      if (!line) return { fresh: event }
      if (offset > 0 || line.type !== event.type || nameOf(line) !== nameOf(event)) throw diverged()
      at++
      return { known: line }
    },
  }
}

function nameOf(event: ContentEvent): string | undefined {
  return 'name' in event ? event.name : undefined
}

function diverged(): MillraceError {
  const message = 'the provider resumed with a different answer than the one it started'
  return new MillraceError({ op: 'model.stream', code: 'stream_error', message, retryable: false })
}
