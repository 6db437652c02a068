import type { LiveLog } from '../log/index.ts'
import type {
  DoneEvent,
  ModelEvent,
  PartialJson,
  RunEvent,
  ToolCallEvent,
  ToolInputStartEvent,
} from '../protocol/index.ts'
import { isObject, MillraceError, messageOf, partialJson } from '../protocol/index.ts'
import type { Tool, ToolRuntime } from '../tools/index.ts'
import { isThenable } from '../tools/index.ts'
import type { ContentEvent } from './catch-up.ts'
import { catchUp } from './catch-up.ts'

export interface RoundAssemblerOptions {
  readonly log: LiveLog
  readonly emit: (event: RunEvent) => void
  readonly runtime: ToolRuntime
  readonly tools: ReadonlyMap<string, Tool>
  /** Why the tool calls of this round are not run; undefined if they are. */
  readonly roundBlockReason: string | undefined
  /** Why the tool call at this index of the round is not run; undefined if it is. */
  readonly callBlockReason: (index: number) => string | undefined
  /**
   * Called when a different answer replaces everything shown so far. If it throws, the generation
   * ends.
   */
  readonly restart: (reason: string) => void
  /**
   * For a resumed generation: the log since its checkpoint. The model repeats these events; they
   * are not emitted again.
   */
  readonly sinceCheckpoint?: readonly ContentEvent[] | undefined
}

/**
 * Turns model events into run events: passes on deltas, assigns unique call ids, and submits each
 * call when it closes.
 */
export interface RoundAssembler {
  /** True once anything of the round was emitted. */
  readonly shown: boolean
  /** True once a resumed generation has repeated everything in the log. */
  isCaughtUp(): boolean
  /** Throws `llm_error` on an invalid event. */
  onModelEvent(event: Exclude<ModelEvent, DoneEvent>): void
  /** The calls that the model started but never closed. */
  unfinishedCalls(done: DoneEvent): ToolCallEvent[]
}

/** A call whose arguments are arriving. */
interface OpenCall {
  readonly callId: string
  /** The tool has no `run`. */
  readonly wants?: 'result'
  readonly partial?: { readonly json: PartialJson; readonly onInput: NonNullable<Tool['onInput']> }
  problem?: string
}

export function roundAssembler(options: RoundAssemblerOptions): RoundAssembler {
  const { log, emit, runtime, tools, roundBlockReason, callBlockReason, restart, sinceCheckpoint } = options
  let replay = sinceCheckpoint && catchUp(sinceCheckpoint)
  /** Keyed by wire id, which may be empty or reused by a later call. */
  const open = new Map<string, OpenCall>()
  const closedCalls = new Map<string, ToolCallEvent>()
  function show(event: RunEvent) {
    assembler.shown = true
    emit(event)
  }

  /** Some providers restart their call ids in each round, or leave them out. */
  function uniqueId(wireId: string): string {
    const { callIds } = log.run
    // Slashes are reserved: they separate the ids of calls inside a sub-agent.
    const base = wireId.replaceAll('/', '_') || `call_${log.run.round}`
    const idOf = (number: number) => (number === 1 ? base : `${base}_${number}`)
    // Used numbers are contiguous, so search in powers of two and bisect: counting up takes seconds
    // for thousands of calls.
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

  function wantsOf(name: string): { wants?: 'result' } {
    const tool = tools.get(name)
    return tool && !tool.run ? { wants: 'result' } : {}
  }

  function openCall(wireId: string, name: string, callId = uniqueId(wireId)): OpenCall {
    const onInput = tools.get(name)?.onInput
    const call: OpenCall = {
      callId,
      ...wantsOf(name),
      ...(onInput && !roundBlockReason && { partial: { json: partialJson(), onInput } }),
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
      const returned = partial.onInput(partial.json.value as never, { callId, delta })
      if (isThenable(returned)) Promise.resolve(returned).catch(fail)
    } catch (error) {
      fail(error)
    }
  }

  /**
   * A repeated call with the same id and input is a duplicate on the wire, not a second request of
   * the model.
   */
  function isDuplicate({ callId, name, input }: ToolCallEvent): boolean {
    const previous = callId && !open.has(callId) ? closedCalls.get(callId) : undefined
    return previous?.name === name && JSON.stringify(previous.input) === JSON.stringify(input)
  }

  function closeCall(event: ToolCallEvent) {
    if (!isObject(event.input))
      throw modelError(`sent a tool call '${event.callId}' whose input is not an object`)
    if (isDuplicate(event)) return
    const call = open.get(event.callId) ?? openCall(event.callId, event.name)
    open.delete(event.callId)
    closedCalls.set(event.callId, event)
    const closed = withCall(event, call)
    show(closed)
    const blockReason = roundBlockReason ?? callBlockReason(log.run.calls.size - 1)
    if (blockReason) runtime.reject(closed, blockReason, 'blocked')
    else if (call.problem) runtime.reject(closed, call.problem, 'failed')
    else runtime.submit({ call: closed, tools, attempt: 1 })
  }

  /** The part of an event that is not in the log yet, or undefined. */
  function newPartOf(event: ContentEvent): ContentEvent | undefined {
    if (!replay) return event
    const call = event.type === 'tool-input' ? open.get(event.callId) : undefined
    const { known, fresh } = replay.match(event, call?.callId)
    if (call && known?.type === 'tool-input') readPartial(call, known.delta)
    if (event.type === 'tool-input-start' && known?.type === event.type)
      openCall(event.callId, event.name, known.callId)
    if (event.type === 'tool-call' && known) {
      open.delete(event.callId)
      closedCalls.set(event.callId, event)
    }
    return fresh
  }

  const assembler = {
    shown: false,
    isCaughtUp: () => replay?.isDone() ?? true,
    onModelEvent(modelEvent: Exclude<ModelEvent, DoneEvent>) {
      if (modelEvent.type === 'restart') {
        open.clear()
        closedCalls.clear()
        replay = undefined
        if (assembler.shown || sinceCheckpoint) restart(modelEvent.reason)
        assembler.shown = false
        return
      }
      const event = replay ? newPartOf(modelEvent) : modelEvent
      if (!event) return
      switch (event.type) {
        case 'text':
        case 'reasoning':
          if (typeof event.text !== 'string') throw modelError(`sent ${event.type} that is not a string`)
          if (event.text) show(event)
          return
        case 'part-end':
        case 'provider-tool':
          return show(event)
        case 'checkpoint':
          // A checkpoint shows nothing, so nothing needs to be retracted.
          return emit(event)
        case 'tool-input-start': {
          if (typeof event.callId !== 'string') throw modelError('started a tool call without an id')
          return show(withCall(event, openCall(event.callId, event.name)))
        }
        case 'tool-input': {
          const call = open.get(event.callId)
          if (!call)
            throw modelError(`sent arguments of a tool call '${event.callId}' that it has not started`)
          if (typeof event.delta !== 'string') throw modelError('sent arguments that are not a string')
          if (!event.delta) return
          show(call.callId === event.callId ? event : { ...event, callId: call.callId })
          return readPartial(call, event.delta)
        }
        case 'tool-call':
          return closeCall(event)
        default:
          throw modelError(`sent an event of unknown type '${(event as { type: unknown }).type}'`)
      }
    },
    unfinishedCalls({ finish }: DoneEvent): ToolCallEvent[] {
      const cause = finish === 'length' ? 'cut off by the output token limit' : 'never finished by the model'
      const problem = `the arguments were ${cause}`
      return Array.from(log.run.openInputs, ([callId, { name, raw }]) => {
        return { type: 'tool-call', callId, name, input: {}, problem, raw, ...wantsOf(name) }
      })
    },
  }
  return assembler
}

/** The event of a call as it appears in the log. Most are the model's own. */
function withCall<Event extends ToolInputStartEvent | ToolCallEvent>(
  event: Event,
  { callId, wants }: OpenCall,
): Event {
  return callId === event.callId && !wants ? event : { ...event, callId, ...(wants && { wants }) }
}

function modelError(what: string): MillraceError {
  return new MillraceError({ op: 'model.stream', code: 'llm_error', message: `the model ${what}` })
}
