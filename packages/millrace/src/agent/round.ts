import type { LiveLog } from '../log/index.ts'
import type { DoneEvent, ModelEvent, PartialJson, RunEvent, ToolCallEvent } from '../protocol/index.ts'
import { isObject, MillraceError, messageOf, partialJson } from '../protocol/index.ts'
import type { Tool, ToolRuntime } from '../tools/index.ts'
import { isThenable } from '../tools/index.ts'
import type { Said } from './catch-up.ts'
import { catchUp } from './catch-up.ts'

export interface RoundOptions {
  readonly log: LiveLog
  readonly emit: (event: RunEvent) => void
  readonly runtime: ToolRuntime
  readonly tools: ReadonlyMap<string, Tool>
  /** Why the calls of this round are not run; undefined if they are. */
  readonly refusal: string | undefined
  /** Why the call at this place of the round is not run; undefined if it is. */
  readonly overTheLimit: (index: number) => string | undefined
  /** Called when everything that was shown is void and another answer follows. What it throws ends the generation. */
  readonly restart: (reason: string) => void
  /** Of a resumed generation: what the log has since its checkpoint. It is repeated by the model and not emitted again. */
  readonly past?: readonly Said[] | undefined
}

/** Places what a model says in the run: passes deltas on, gives calls ids of their own, hands each over as it closes. */
export interface Round {
  /** True once a listener has seen anything of it. */
  readonly shown: boolean
  /** A resumed generation has repeated everything that the log has of it. */
  readonly caughtUp: boolean
  /** Throws `llm_error` on what no model may say. */
  hear(event: Exclude<ModelEvent, DoneEvent>): void
  /** The model is done: the calls that it began and never closed. */
  cutOff(done: DoneEvent): ToolCallEvent[]
}

/** A call whose arguments are arriving. */
interface OpenCall {
  readonly callId: string
  readonly partial?: { readonly json: PartialJson; readonly onInput: NonNullable<Tool['onInput']> }
  problem?: string
}

export function tellRound(options: RoundOptions): Round {
  const { log, emit, runtime, tools, refusal, overTheLimit, restart, past } = options
  let catching = past && catchUp(past)
  /** By the id the wire uses, which may come again for a later call, or be empty. */
  const open = new Map<string, OpenCall>()
  const closedCalls = new Map<string, ToolCallEvent>()
  let shown = false

  function show(event: RunEvent) {
    shown = true
    emit(event)
  }

  /** Some providers number their calls anew in each round, or leave the id out. */
  function ownId(wireId: string): string {
    const { callIds } = log.run
    // A slash is ours: it leads to the calls inside a sub-agent.
    const base = wireId.replaceAll('/', '_') || `call_${log.run.round}`
    const idOf = (number: number) => (number === 1 ? base : `${base}_${number}`)
    // Those that are taken lie side by side: it doubles and halves, since counting thousands of them for each call takes seconds.
    let taken = 0
    let free = 1
    while (callIds.has(idOf(free))) {
      taken = free
      free *= 2
    }
    while (free - taken > 1) {
      const middle = (taken + free) >> 1
      if (callIds.has(idOf(middle))) taken = middle
      else free = middle
    }
    return idOf(free)
  }

  function begin(wireId: string, name: string, callId = ownId(wireId)): OpenCall {
    const onInput = tools.get(name)?.onInput
    const call: OpenCall = {
      callId,
      ...(onInput && !refusal && { partial: { json: partialJson(), onInput } }),
    }
    open.set(wireId, call)
    return call
  }

  function readPartial(call: OpenCall, delta: string) {
    const { partial, callId } = call
    if (!partial || call.problem) return
    const fail = (error: unknown) => {
      call.problem ??= `The tool failed while its arguments arrived: ${messageOf(error)}`
    }
    partial.json.push(delta)
    if (partial.json.value === undefined) return
    try {
      const watched = partial.onInput(partial.json.value as never, { callId, delta })
      if (isThenable(watched)) Promise.resolve(watched).catch(fail)
    } catch (error) {
      fail(error)
    }
  }

  /** The same call with the same id and input once more is a wire that stutters, not a model that wants it twice. */
  function isEcho({ callId, name, input }: ToolCallEvent): boolean {
    const before = callId && !open.has(callId) ? closedCalls.get(callId) : undefined
    return before?.name === name && JSON.stringify(before.input) === JSON.stringify(input)
  }

  function close(event: ToolCallEvent) {
    if (!isObject(event.input)) throw misbehaved(`gave the call '${event.callId}' an input that is no object`)
    if (isEcho(event)) return
    const call = open.get(event.callId) ?? begin(event.callId, event.name)
    open.delete(event.callId)
    closedCalls.set(event.callId, event)
    const { callId } = call
    const closed = callId === event.callId ? event : { ...event, callId }
    show(closed)
    const blocked = refusal ?? overTheLimit(log.run.calls.size - 1)
    if (blocked) runtime.refuse(closed, blocked, 'blocked')
    else if (call.problem) runtime.refuse(closed, call.problem, 'failed')
    else runtime.submit({ call: closed, tools, attempt: 1 })
  }

  /** The part of an event that is not in the log yet, if any. */
  function freshOf(event: Said): Said | undefined {
    if (!catching) return event
    const own = event.type === 'tool-input' ? open.get(event.callId) : undefined
    const { known, fresh } = catching.take(event, own?.callId)
    if (own && known?.type === 'tool-input') readPartial(own, known.delta)
    if (event.type === 'tool-input-start' && known?.type === event.type)
      begin(event.callId, event.name, known.callId)
    if (event.type === 'tool-call' && known) {
      open.delete(event.callId)
      closedCalls.set(event.callId, event)
    }
    return fresh
  }

  return {
    get shown() {
      return shown
    },
    get caughtUp() {
      return catching?.done ?? true
    },
    hear(said) {
      if (said.type === 'restart') {
        open.clear()
        closedCalls.clear()
        catching = undefined
        if (shown || past) restart(said.reason)
        shown = false
        return
      }
      const event = catching ? freshOf(said) : said
      if (!event) return
      switch (event.type) {
        case 'text':
        case 'reasoning':
          if (typeof event.text !== 'string') throw misbehaved(`sent ${event.type} that is no text`)
          if (event.text) show(event)
          return
        case 'part-end':
        case 'provider-tool':
          return show(event)
        case 'checkpoint':
          // It shows nothing, so there is nothing to retract.
          return emit(event)
        case 'tool-input-start': {
          if (typeof event.callId !== 'string') throw misbehaved('began a call without an id')
          const { callId } = begin(event.callId, event.name)
          return show(callId === event.callId ? event : { ...event, callId })
        }
        case 'tool-input': {
          const call = open.get(event.callId)
          if (!call) throw misbehaved(`sent arguments of a call '${event.callId}' that it has not begun`)
          if (typeof event.delta !== 'string') throw misbehaved('sent arguments that are no text')
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
    cutOff({ finish }) {
      const why =
        finish === 'length' ? 'cut off by the limit of output tokens' : 'never finished by the model'
      const problem = `the arguments were ${why}`
      return Array.from(log.run.openInputs, ([callId, { name, raw }]) => {
        return { type: 'tool-call', callId, name, input: {}, problem, raw }
      })
    },
  }
}

function misbehaved(what: string): MillraceError {
  return new MillraceError({ op: 'model.stream', code: 'llm_error', message: `the model ${what}` })
}
