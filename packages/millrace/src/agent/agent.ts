import { memoryLog } from '../log/index.ts'
import type { ApprovalEvent, Model, RunEvent, RunState } from '../protocol/index.ts'
import { invalidInput, isObject, kindOf, messageOf } from '../protocol/index.ts'
import type { Replacement, Schema, Tool, Toolbox, ToolContext } from '../tools/index.ts'
import { isElsewhere, nestedRunOf, noticesOf } from '../tools/index.ts'
import type { AsToolOptions } from './as-tool.ts'
import { agentTool } from './as-tool.ts'
import { checkChangedInput, readDecisions } from './decisions.ts'
import type { AgentInput } from './input.ts'
import { readInput, readLog, readUserMessage } from './input.ts'
import type { AgentInternals } from './internals.ts'
import { agentInternals } from './internals.ts'
import type { Loop, LoopStart } from './loop.ts'
import { startLoop } from './loop.ts'
import type { AgentOptions, DraftOf, LoopOptions, OutputOf, RunOptions } from './options.ts'
import { checkAgentOptions, checkChoice, mergeRunOptions } from './options.ts'
import type { Plan } from './plan.ts'
import { openPlan } from './plan.ts'
import type { Decision, Run, RunResult, Started } from './run.ts'
import { openRun } from './run.ts'
import type { AgentTool, CallTypes, CallTypesOf } from './tool-types.ts'

/** The options of a run; not optional where the agent's tools need a context. */
type Options<Context, More = unknown> = unknown extends Context
  ? [options?: RunOptions<Context> & More]
  : [options: RunOptions<Context> & More & { readonly context: Context }]

export interface Agent<
  Context = unknown,
  Output = undefined,
  Draft = Output,
  Calls extends CallTypes = CallTypes,
  Name extends string = string,
> {
  readonly name: Name
  /** Starts a run at once. Throws `invalid_input` if it cannot; whatever happens afterwards is told in the run. */
  stream(input: AgentInput, ...options: Options<Context>): Run<Output, Draft, Calls>
  /** The same, awaited. Rejects with the run's error if it failed. */
  run(input: AgentInput, ...options: Options<Context>): Promise<RunResult<Output, Calls['request']>>
  /** Generates one round and tells which calls it would make, running none. */
  plan(input: AgentInput, ...options: Options<Context>): Plan<Calls>
  /**
   * Goes on from the events of a run that was suspended, with the decisions it waited for, or that was cut off with its
   * process. No call with a result runs again; one in flight only if its tool says `repeat: 'safe'`.
   */
  resume(events: readonly RunEvent[], ...options: Options<Context, Decided>): Run<Output, Draft, Calls>
  /** The agent as a tool of another one. */
  asTool<const ToolName extends string = Name>(
    options: AsToolOptions<ToolName>,
  ): AgentTool<Context, NoInfer<ToolName>, string | Exclude<Output, undefined>>
}

interface Decided {
  readonly decisions?: readonly Decision[] | undefined
}

/** What a run outside of any thread begins with. */
interface Beginning {
  /** The run that it resumes, and the decisions that one waited for. */
  readonly before?: RunState
  readonly decisions?: readonly ApprovalEvent[]
  readonly start: LoopStart
}

/** What all of the tools need, taken together. */
type ContextOf<Tools extends readonly (Tool | Toolbox)[]> = (
  Tools[number] extends infer One
    ? One extends Tool<infer Context> | Toolbox<infer Context>
      ? (context: Context) => void
      : never
    : never
) extends (context: infer All) => void
  ? All
  : unknown

/** Defines an agent. Throws `invalid_input` if the options cannot be used; nothing is started before it is asked something. */
export function agent<
  const Tools extends readonly (Tool | Toolbox)[] = readonly [],
  const Output extends Schema | undefined = undefined,
  Context = ContextOf<Tools>,
  const Name extends string = string,
  Replaced extends Replacement | undefined | void = undefined,
>(
  options: AgentOptions<Context, Output, Tools, Name, Replaced>,
): Agent<Context, OutputOf<Output>, DraftOf<Output>, CallTypesOf<Tools, Replaced>, Name> {
  const settings = checkAgentOptions(options as AgentOptions<Context>, 'agent')
  const { agent: name } = settings
  const notices = () => noticesOf(options.tools ?? [])

  /** `more` is what the caller's options cannot say. */
  function merge(
    run: RunOptions<Context>,
    op: string,
    more: Partial<LoopOptions<Context>> = {},
  ): LoopOptions<Context> {
    const own = mergeRunOptions(settings, run, op)
    return { ...own, planOnly: false, ...more, telemetry: more.telemetry ?? own.telemetry }
  }

  function begin(
    op: string,
    run: RunOptions<Context>,
    beginning: (options: LoopOptions<Context>) => Beginning,
    more?: Partial<LoopOptions<Context>>,
  ): Started<Context> {
    const options = merge(run, op, more)
    const { before, decisions = [], start } = beginning(options)
    const runId = newRunId()
    const log = memoryLog(before)
    const loop = startLoop(runId, { log, start, onEnd: log.close }, options)
    if (run.signal) cancelWith(run.signal, loop)
    for (const decision of decisions) loop.signal(decision)
    return { loop, log, runId, options }
  }

  function fromInput(op: string, input: AgentInput) {
    return ({ models, tools, toolChoice }: LoopOptions<Context>): Beginning => {
      // Again for each run: a toolbox may have other tools by now than it had when the agent was made.
      checkChoice(toolChoice, tools(), op)
      return { start: readInput(input, { op, model: models[0] as Model }) }
    }
  }

  function fromLog(op: string, events: readonly RunEvent[], decisions: readonly unknown[]) {
    return ({ tools }: LoopOptions<Context>): Beginning => {
      const before = readLog(events, op)
      return {
        before,
        decisions: readDecisions(decisions, before, { tools: tools(), policy: settings.permission }, op),
        start: {},
      }
    }
  }

  /** `before` are the events of the run that this one resumes. */
  function open(
    started: Started<Context>,
    run: RunOptions<Context>,
    before: readonly RunEvent[] = [],
  ): Run<unknown> {
    return openRun(started as Started, (events, decisions, changed) => {
      const op = 'run.resume'
      const log = [...before, ...events]
      // A signal may well belong to a request that is long over.
      const { signal, ...kept } = run
      const next = { ...kept, ...(changed as RunOptions<Context>) }
      return open(begin(op, next, fromLog(op, log, decisions)), next, log)
    })
  }

  return {
    name,
    stream(input: AgentInput, run: RunOptions<Context> = {}) {
      const op = 'agent.stream'
      return open(begin(op, run, fromInput(op, input)), run)
    },
    async run(input: AgentInput, run: RunOptions<Context> = {}) {
      const op = 'agent.run'
      const result = await open(begin(op, run, fromInput(op, input)), run).result
      if (result.outcome === 'failed') throw result.error
      return result
    },
    plan(input: AgentInput, run: RunOptions<Context> = {}) {
      const op = 'agent.plan'
      return openPlan(begin(op, run, fromInput(op, input), { planOnly: true }))
    },
    resume(events: readonly RunEvent[], options: RunOptions<Context> & Decided = {}) {
      const op = 'agent.resume'
      if (!isObject(options as unknown))
        throw invalidInput(op, `the options of a run must be an object, not ${kindOf(options)}`)
      const { decisions = [], ...run } = options as RunOptions<Context> & Decided
      return open(begin(op, run, fromLog(op, events, decisions)), run, events)
    },
    asTool(toolOptions: AsToolOptions) {
      const op = 'agent.asTool'
      const starting = (
        beginning: (options: LoopOptions<Context>) => Beginning,
        context: ToolContext<Context>,
      ) => {
        const run = { signal: context.signal, context: context.context }
        const { relay, observe, telemetry, guard, granted } = nestedRunOf(context)
        const above = { guard, granted, runSignal: context.runSignal }
        const more = { relay, commit: context.commit, observe, telemetry: telemetry?.(), above }
        return open(begin(op, run, beginning, more), run)
      }
      const asTool = agentTool<Context>(
        {
          start: (prompt, context) => starting(fromInput(op, prompt), context),
          resume: (events, decisions, context) => starting(fromLog(op, events, decisions), context),
        },
        { ...toolOptions, name: toolOptions?.name ?? name },
      )
      return { ...asTool, notices }
    },
    [agentInternals]: {
      readMessage: (input, op) => readUserMessage(input, { op, model: settings.models[0] as Model }),
      async readDecision(decision, state, op) {
        const tools = settings.tools()
        const [event] = readDecisions([decision], state, { tools, policy: settings.permission }, op) as [
          ApprovalEvent,
        ]
        await checkChangedInput(event, state, tools, op)
        return event
      },
      start(log, start, { context, conversation, ...more }) {
        const run = { context: context as Context, conversation }
        const options = merge(run, 'thread.run', { ...more, inThread: true })
        return startLoop(newRunId(), { log, start }, options)
      },
      notices,
    } satisfies AgentInternals,
  } as unknown as ReturnType<typeof agent<Tools, Output, Context, Name, Replaced>>
}

function newRunId(): string {
  return `run_${crypto.randomUUID()}`
}

/** Cancels the run when the caller's signal says so; does not hold on to the signal after that. */
function cancelWith(signal: AbortSignal, loop: Loop) {
  const cancel = () => {
    const { reason } = signal
    if (isElsewhere(reason)) return loop.abandon()
    // What `abort()` gives if nothing else is said.
    const unsaid = reason instanceof Error && reason.name === 'AbortError'
    loop.cancel(unsaid ? 'cancelled by the caller' : messageOf(reason))
  }
  if (signal.aborted) return cancel()
  signal.addEventListener('abort', cancel, { once: true })
  void loop.ended.then(() => signal.removeEventListener('abort', cancel))
}
