import type { JsonValue, ModelEvent } from '../../protocol/index.ts'
import { toolCall } from '../../protocol/index.ts'
import { streamError } from '../wire/stream-error.ts'
import type { Braces } from './braces.ts'
import { braces } from './braces.ts'

/** What one chunk says of one call. */
export interface Fragment {
  readonly index: number | undefined
  readonly id: string
  readonly name: string
  readonly text: string
  /** What must go back with the call: Gemini's thought signature. */
  readonly data?: JsonValue
}

interface Call {
  readonly callId: string
  /** As it came first; blank if it never did. */
  readonly wireId: string
  name: string
  raw: string
  /** Whether `raw` is a whole object. Not a proof that the call is complete: that is the next one's beginning. */
  readonly braces: Braces
  /** Arguments that have not been told, since the name is not known yet. */
  untold: string
  begun: boolean
  closed: boolean
  /** `{}` has come, which may be the arguments or only stand for those that follow. */
  placeholder: boolean
  data: JsonValue | undefined
}

export interface CallJoiner {
  /** The fragments of one chunk, in their order. */
  add(fragments: readonly Fragment[]): void
  /** The wire has said that the calls are complete. */
  closeAll(): void
  /** The stream ended without a finish reason: only calls with whole arguments are complete. */
  closeWhole(): void
  /** True once any call has begun. */
  readonly called: boolean
}

/**
 * Puts calls together from their fragments. A fragment belongs to the call of its `index`; without one to that of its `id`;
 * without either to the call at its place in the list, and one that is alone to the latest.
 *
 * Servers that call themselves compatible differ in everything else (see docs/models.md): this is where it is made good.
 */
export function callJoiner(
  events: ModelEvent[],
  { provider, tools }: { readonly provider: string; readonly tools: ReadonlySet<string> },
): CallJoiner {
  const calls: Call[] = []
  const byIndex = new Map<number, Call>()

  function add(fragment: Fragment, position: number, count: number) {
    let call = find(fragment, position, count)
    if (!call || startsAnew(call, fragment)) call = open(fragment)
    if (call.closed) {
      // Alibaba closes with `"arguments":""` once more. Anything else would change a call that may be running.
      if (fragment.text.trim() === '') return
      throw streamError(`${provider} sent more arguments of the call '${call.callId}' after it was complete`)
    }
    call.name = joinName(call, fragment.name)
    call.data ??= fragment.data
    if (fragment.text !== '') append(call, fragment.text)
    if (!call.begun && isReady(call)) begin(call)
  }

  function find({ index, id, name }: Fragment, position: number, count: number): Call | undefined {
    if (index !== undefined) return byIndex.get(index)
    if (id !== '') {
      const same = calls.find((call) => call.wireId === id)
      // A new id with no name is an id that changed.
      return same ?? (name === '' ? calls.at(-1) : undefined)
    }
    return count > 1 ? calls[position] : calls.at(-1)
  }

  /** Whether a fragment that points to this call is the beginning of another one: an index used twice, or none at all. */
  function startsAnew(call: Call, { id, name, text }: Fragment): boolean {
    if (name === '' || call.name === '' || (id !== '' && id === call.wireId)) return false
    const otherId = id !== '' && call.wireId !== '' && id !== call.wireId
    if (call.closed) return otherId || text !== ''
    if (call.raw === '' || call.placeholder) {
      const otherName = tools.has(name) && tools.has(call.name) && name !== call.name
      return otherName || (otherId && (call.placeholder || name !== call.name) && tools.has(call.name))
    }
    // While its arguments are open, a name or an id that changes means nothing.
    return (otherId || text !== '') && call.braces.closed
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
      untold: '',
      begun: false,
      closed: false,
      placeholder: false,
      data: undefined,
    }
    calls.push(call)
    if (index !== undefined) byIndex.set(index, call)
    return call
  }

  /** Once the next one begins, it is complete. One that lacks its name waits for it. */
  function isWhole(call: Call): boolean {
    return !call.closed && !call.placeholder && call.name !== '' && call.braces.closed
  }

  /** A name comes at once, in pieces, or again with every fragment. */
  function joinName({ name, begun }: Call, more: string): string {
    if (more === '' || more === name || begun) return name
    if (name === '') return more
    if (tools.has(name + more)) return name + more
    if (tools.has(more) || tools.has(name)) return tools.has(name) ? name : more
    return name + more
  }

  /** It can be told as begun: nothing more will be added to its name. */
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
      else tell(call, call.raw)
    }
    const first = call.raw === ''
    call.raw += text
    call.braces.push(text)
    if (first && text.trim() === '{}') call.placeholder = true
    else tell(call, text)
  }

  function tell(call: Call, delta: string) {
    if (call.begun) events.push({ type: 'tool-input', callId: call.callId, delta })
    else call.untold += delta
  }

  function begin(call: Call) {
    call.begun = true
    const { callId, name, untold } = call
    events.push({ type: 'tool-input-start', callId, name })
    if (untold !== '') events.push({ type: 'tool-input', callId, delta: untold })
    call.untold = ''
  }

  function close(call: Call) {
    if (!call.begun) begin(call)
    if (call.placeholder) tell(call, call.raw)
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
      for (const call of calls) if (!call.closed && call.name !== '' && call.braces.closed) close(call)
    },
    get called() {
      return calls.length > 0
    },
  }
}
