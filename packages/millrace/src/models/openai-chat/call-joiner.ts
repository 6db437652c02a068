import type { JsonValue, ModelEvent } from '../../protocol/index.ts'
import { toolCall } from '../../protocol/index.ts'
import { streamError } from '../wire/stream-error.ts'
import type { Braces } from './braces.ts'
import { braces } from './braces.ts'

/** The part of one chunk that belongs to one call. */
export interface Fragment {
  readonly index: number | undefined
  readonly id: string
  readonly name: string
  readonly text: string
  /** Must be sent back with the call: Gemini's thought signature. */
  readonly data?: JsonValue
}

interface Call {
  readonly callId: string
  /** The first id that was sent; empty if there was none. */
  readonly wireId: string
  name: string
  raw: string
  /**
   * Whether `raw` is a whole object. This alone does not complete the call: the start of the next
   * one does.
   */
  readonly braces: Braces
  /** Arguments that were not emitted yet because the name is unknown. */
  pendingInput: string
  started: boolean
  closed: boolean
  /** `{}` was sent, which may be the arguments or a placeholder for those that follow. */
  placeholder: boolean
  data: JsonValue | undefined
}

export interface CallJoiner {
  /** The fragments of one chunk, in their order. */
  add(fragments: readonly Fragment[]): void
  /** The provider has reported that the calls are complete. */
  closeAll(): void
  /** The stream ended without a finish reason: only calls with whole arguments are complete. */
  closeWhole(): void
  /** True once any call has started. */
  called(): boolean
}

/**
 * Assembles tool calls from fragments. A fragment belongs to the call with its `index`; without an
 * index, to the call with its `id`; without either, to the call at its position in the list, or to
 * the latest call if it is the only fragment.
 *
 * Servers that claim to be compatible differ in everything else (see docs/reference/models.md).
 * This code handles the differences.
 */
export function callJoiner(
  events: ModelEvent[],
  { provider, tools }: { readonly provider: string; readonly tools: ReadonlySet<string> },
): CallJoiner {
  const calls: Call[] = []
  const byIndex = new Map<number, Call>()

  function add(fragment: Fragment, position: number, count: number) {
    let call = find(fragment, position, count)
    if (!call || startsNewCall(call, fragment)) call = open(fragment)
    if (call.closed) {
      // Alibaba ends a call with another `"arguments":""`. Anything else would change a call that
      // may be running.
      if (fragment.text.trim() === '') return
      throw streamError(`${provider} sent more arguments for the call '${call.callId}' after it was complete`)
    }
    call.name = joinName(call, fragment.name)
    call.data ??= fragment.data
    if (fragment.text !== '') append(call, fragment.text)
    if (!call.started && isReady(call)) start(call)
  }

  function find({ index, id, name }: Fragment, position: number, count: number): Call | undefined {
    if (index !== undefined) return byIndex.get(index)
    if (id !== '') {
      const same = calls.find((call) => call.wireId === id)
      // A new id without a name: the call's id has changed.
      return same ?? (name === '' ? calls.at(-1) : undefined)
    }
    return count > 1 ? calls[position] : calls.at(-1)
  }

  /** Whether a fragment for this call starts another one: the index is used twice or missing. */
  function startsNewCall(call: Call, { id, name, text }: Fragment): boolean {
    if (name === '' || call.name === '' || (id !== '' && id === call.wireId)) return false
    const otherId = id !== '' && call.wireId !== '' && id !== call.wireId
    if (call.closed) return otherId || text !== ''
    if (call.raw === '' || call.placeholder) {
      const otherName = tools.has(name) && tools.has(call.name) && name !== call.name
      return otherName || (otherId && (call.placeholder || name !== call.name) && tools.has(call.name))
    }
    // While the arguments are open, a different name or id means nothing.
    return (otherId || text !== '') && call.braces.closed()
  }

  function open({ index, id }: Fragment): Call {
    for (const call of calls) if (isWhole(call)) close(call)
    const base = id || `call_${calls.length + 1}`
    let callId = base
    for (let count = 2; calls.some((call) => call.callId === callId); count++) callId = `${base}_${count}`
    const call: Call = {
      callId,
      wireId: id,
      name: '',
      raw: '',
      braces: braces(),
      pendingInput: '',
      started: false,
      closed: false,
      placeholder: false,
      data: undefined,
    }
    calls.push(call)
    if (index !== undefined) byIndex.set(index, call)
    return call
  }

  /** Complete once the next call starts. A call without a name waits for it. */
  function isWhole(call: Call): boolean {
    return !call.closed && !call.placeholder && call.name !== '' && call.braces.closed()
  }

  /** A name may come at once, in pieces, or again with every fragment. */
  function joinName({ name, started }: Call, more: string): string {
    if (more === '' || more === name || started) return name
    if (name === '') return more
    if (tools.has(name + more)) return name + more
    if (tools.has(more) || tools.has(name)) return tools.has(name) ? name : more
    return name + more
  }

  /** The call can be emitted: its name is complete. */
  function isReady({ name, raw, placeholder }: Call): boolean {
    if (name === '') return false
    if (raw !== '' && !placeholder) return true
    if (!tools.has(name)) return false
    for (const tool of tools) if (tool !== name && tool.startsWith(name)) return false
    return true
  }

  function append(call: Call, text: string) {
    if (call.placeholder) {
      call.placeholder = false
      // Some servers open every call with `"arguments":"{}"` and send the real ones after it.
      if (text.trimStart().startsWith('{')) call.raw = ''
      else emitInput(call, call.raw)
    }
    const first = call.raw === ''
    call.raw += text
    call.braces.push(text)
    if (first && text.trim() === '{}') call.placeholder = true
    else emitInput(call, text)
  }

  function emitInput(call: Call, delta: string) {
    if (call.started) events.push({ type: 'tool-input', callId: call.callId, delta })
    else call.pendingInput += delta
  }

  function start(call: Call) {
    call.started = true
    const { callId, name, pendingInput } = call
    events.push({ type: 'tool-input-start', callId, name })
    if (pendingInput !== '') events.push({ type: 'tool-input', callId, delta: pendingInput })
    call.pendingInput = ''
  }

  function close(call: Call) {
    if (!call.started) start(call)
    if (call.placeholder) emitInput(call, call.raw)
    call.closed = true
    const { callId, name, raw, data } = call
    events.push(toolCall({ callId, name, raw, opaque: data === undefined ? undefined : { provider, data } }))
  }

  return {
    add(fragments) {
      fragments.forEach((fragment, position) => {
        add(fragment, position, fragments.length)
      })
    },
    closeAll() {
      for (const call of calls) if (!call.closed) close(call)
    },
    closeWhole() {
      for (const call of calls) if (!call.closed && call.name !== '' && call.braces.closed()) close(call)
    },
    called() {
      return calls.length > 0
    },
  }
}
