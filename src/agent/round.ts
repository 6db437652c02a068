import type { DoneEvent, ModelEvent, PartialJson, RunEvent, ToolCallEvent } from '../protocol/index.ts'
import { MillraceError, messageOf, partialJson } from '../protocol/index.ts'
import type { Tool, ToolRuntime } from '../tools/index.ts'
import type { RunState } from './state.ts'

export interface RoundOptions {
  readonly state: RunState
  readonly emit: (event: RunEvent) => void
  readonly runtime: ToolRuntime
  readonly tools: ReadonlyMap<string, Tool>
  /** Why the calls of this round are not run; undefined if they are. */
  readonly refusal: string | undefined
  readonly maxCalls: number
}

/** Places what a model says in the run: passes deltas on, gives calls ids of their own, hands each over as it closes. */
export interface Round {
  /** True once a listener has seen anything of it. */
  readonly shown: boolean
  /** Throws `llm_error` on what no model may say. */
  hear(event: Exclude<ModelEvent, DoneEvent>): void
  /** The model is done: calls it began and never closed are told as such, and never run. */
  closeCutOff(done: DoneEvent): void
}

/** A call whose arguments are arriving. */
interface OpenCall {
  readonly callId: string
  readonly partial?: { readonly json: PartialJson; readonly onInput: NonNullable<Tool['onInput']> }
  problem?: string
}

export function tellRound({ state, emit, runtime, tools, refusal, maxCalls }: RoundOptions): Round {
  /** By the id the wire uses, which may come again for a later call, or be empty. */
  const open = new Map<string, OpenCall>()
  const taken = new Set<string>()
  let shown = false

  function show(event: RunEvent) {
    shown = true
    emit(event)
  }

  /** Some providers number their calls anew in each round, or leave the id out. */
  function ownId(wireId: string): string {
    const base = wireId || `call_${state.round}`
    let callId = base
    for (let count = 2; taken.has(callId) || state.callIds.has(callId); count++) callId = `${base}_${count}`
    taken.add(callId)
    return callId
  }

  function begin(wireId: string, name: string): OpenCall {
    const onInput = tools.get(name)?.onInput
    const call: OpenCall = {
      callId: ownId(wireId),
      ...(onInput && !refusal && { partial: { json: partialJson(), onInput } }),
    }
    open.set(wireId, call)
    return call
  }

  function readPartial(call: OpenCall, delta: string) {
    const { partial, callId } = call
    if (!partial || call.problem) return
    partial.json.push(delta)
    if (partial.json.value === undefined) return
    try {
      partial.onInput(partial.json.value as never, { callId })
    } catch (error) {
      call.problem = `The tool failed while its arguments arrived: ${messageOf(error)}`
    }
  }

  function close(event: ToolCallEvent) {
    const call = open.get(event.callId) ?? begin(event.callId, event.name)
    open.delete(event.callId)
    const { callId } = call
    const closed = callId === event.callId ? event : { ...event, callId }
    show(closed)
    if (refusal) runtime.refuse(closed, refusal, 'blocked')
    else if (call.problem) runtime.refuse(closed, call.problem, 'failed')
    else if (state.calls.size > maxCalls)
      runtime.refuse(
        closed,
        `Not run: at most ${maxCalls} calls are run in one round. Make this call again in the next.`,
        'blocked',
      )
    else runtime.submit({ call: closed, tools, attempt: 1 })
  }

  return {
    get shown() {
      return shown
    },
    hear(event) {
      switch (event.type) {
        case 'text':
        case 'reasoning':
          if (event.text) show(event)
          return
        case 'part-end':
          return show(event)
        case 'tool-input-start': {
          const { callId } = begin(event.callId, event.name)
          return show(callId === event.callId ? event : { ...event, callId })
        }
        case 'tool-input': {
          const call = open.get(event.callId)
          if (!call) throw misbehaved(`sent arguments of a call '${event.callId}' that it has not begun`)
          if (!event.delta) return
          show(call.callId === event.callId ? event : { ...event, callId: call.callId })
          return readPartial(call, event.delta)
        }
        case 'tool-call':
          return close(event)
        default:
          throw misbehaved(`sent an event of unknown type '${(event as { type: unknown }).type}'`)
      }
    },
    closeCutOff({ finish }) {
      const why =
        finish === 'length' ? 'cut off by the limit of output tokens' : 'never finished by the model'
      for (const [callId, { name, raw }] of state.openInputs) {
        const call: ToolCallEvent = {
          type: 'tool-call',
          callId,
          name,
          input: {},
          problem: `the arguments were ${why}`,
          raw,
        }
        show(call)
        runtime.refuse(call, `Not run: ${call.problem}.`, 'rejected')
      }
    },
  }
}

function misbehaved(what: string): MillraceError {
  return new MillraceError({ op: 'model.stream', code: 'llm_error', message: `the model ${what}` })
}
