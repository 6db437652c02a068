import { memoryLog } from '../log/index.ts'
import type { ApprovalEvent, MetadataState, Model, RunEvent, RunState } from '../protocol/index.ts'
import { foldMetadata, invalidInput, isObject, kindOf, messageOf } from '../protocol/index.ts'
import type { Replacement, Schema, Tool, Toolbox, ToolContext } from '../tools/index.ts'
import { isHandover, nestedRunOf, noticesOf, toolContent } from '../tools/index.ts'
import type { AsToolOptions } from './as-tool.ts'
import { agentTool } from './as-tool.ts'
import { checkChangedInput, readDecisions } from './decisions.ts'
import { describeAgent } from './describe.ts'
import type { AgentInput } from './input.ts'
import { readHistory, readInput, readLog, readUserMessage } from './input.ts'
import type { AgentInternals, RunExtension } from './internals.ts'
import { agentInternals } from './internals.ts'
import type { Loop, LoopStart } from './loop.ts'
import { startLoop } from './loop.ts'
import type { AgentOptions, DraftOf, LoopOptions, OutputOf, RunOptions } from './options.ts'
import { checkAgentOptions, checkChoice, mergeRunOptions, withMore } from './options.ts'
import type { Plan } from './plan.ts'
import { openPlan } from './plan.ts'
import type { Decision, Run, RunResult, StartedRun } from './run.ts'
import { openRun } from './run.ts'
import { modelOf, readRequest } from './run-request.ts'
import type { AgentTool, CallTypes, CallTypesOf } from './tool-types.ts'

/** The options of a run; required if the agent's tools need a context. */
type OptionsArgument<Context, More = unknown> = unknown extends Context
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
  /**
   * Starts a run. Throws `invalid_input` on invalid arguments; later errors are reported by the
   * run.
   */
  stream(input: AgentInput, ...options: OptionsArgument<Context>): Run<Output, Draft, Calls>
  /** Starts a run and resolves to its result. Rejects with the run's error if it failed. */
  run(input: AgentInput, ...options: OptionsArgument<Context>): Promise<RunResult<Output, Calls['request']>>
  /** Generates one round and returns the tool calls it would make, without running them. */
  plan(input: AgentInput, ...options: OptionsArgument<Context>): Plan<Calls>
  /**
   * Resumes a run from its events: one that was suspended, with the decisions it waits for, or one
   * whose process died. A tool call with a result never runs again; a call in flight runs again
   * only if its tool has `repeat: 'safe'`.
   */
  resume(
    events: readonly RunEvent[],
    ...options: OptionsArgument<Context, WithDecisions>
  ): Run<Output, Draft, Calls>
  /** Wraps the agent as a tool for another agent. */
  asTool<const ToolName extends string = Name>(
    options: AsToolOptions<ToolName>,
  ): AgentTool<Context, NoInfer<ToolName>, string | Exclude<Output, undefined>>
}

interface WithDecisions {
  readonly decisions?: readonly Decision[] | undefined
}

/** How a run outside of a thread starts. */
interface RunSetup {
  /** The run it resumes, and the decisions that run waited for. */
  readonly previous?: RunState
  readonly metadata?: MetadataState | undefined
  readonly decisions?: readonly ApprovalEvent[]
  readonly start: LoopStart
}

/** The intersection of the contexts that all tools need. */
type ContextOf<Tools extends readonly (Tool | Toolbox)[]> = (
  Tools[number] extends infer Item
    ? Item extends Tool<infer Context> | Toolbox<infer Context>
      ? (context: Context) => void
      : never
    : never
) extends (context: infer All) => void
  ? All
  : unknown

/**
 * Defines an agent. Throws `invalid_input` on invalid options. Nothing runs until the agent is
 * called.
 */
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

  /** `overrides` are internal options that callers cannot set. */
  function mergeOptions(
    run: RunOptions<Context>,
    op: string,
    overrides: Partial<LoopOptions<Context>> = {},
  ): LoopOptions<Context> {
    const own = mergeRunOptions(settings, run, op)
    return { ...own, planOnly: false, ...overrides, telemetry: overrides.telemetry ?? own.telemetry }
  }

  function startRun(
    op: string,
    run: RunOptions<Context>,
    setup: (options: LoopOptions<Context>) => RunSetup,
    overrides?: Partial<LoopOptions<Context>>,
  ): StartedRun<Context> {
    const options = mergeOptions(run, op, overrides)
    const { previous, metadata, decisions = [], start } = setup(options)
    const runId = newRunId()
    const log = memoryLog(previous, metadata)
    const loop = startLoop(runId, { log, start, onEnd: () => log.close() }, options)
    if (run.signal) cancelWith(run.signal, loop)
    for (const decision of decisions) loop.signal(decision)
    return { loop, log, runId, options }
  }

  function fromInput(op: string, input: AgentInput) {
    return ({ models, tools, toolChoice }: LoopOptions<Context>): RunSetup => {
      // Checked for each run: the tools of a toolbox may have changed since the agent was created.
      checkChoice(toolChoice, tools(), op)
      return { start: readInput(input, { op, model: models[0] as Model }) }
    }
  }

  function fromLog(op: string, events: readonly RunEvent[], decisions: readonly unknown[]) {
    return ({ tools }: LoopOptions<Context>): RunSetup => {
      const previous = readLog(events, op)
      return {
        previous,
        metadata: foldMetadata(events),
        decisions: readDecisions(decisions, previous, { tools: tools(), policy: settings.permission }, op),
        start: {},
      }
    }
  }

  /** `earlierEvents` are the events of the run that this one resumes. */
  function open(
    started: StartedRun<Context>,
    run: RunOptions<Context>,
    earlierEvents: readonly RunEvent[] = [],
  ): Run<unknown> {
    const resume: Parameters<typeof openRun>[1] = (events, decisions, changed) => {
      const op = 'run.resume'
      const log = [...earlierEvents, ...events]
      // The signal may belong to a request that ended long ago.
      const { signal, ...kept } = run
      const next = { ...kept, ...(changed as RunOptions<Context>) }
      return open(startRun(op, next, fromLog(op, log, decisions)), next, log)
    }
    return openRun(started as StartedRun, resume, earlierEvents)
  }

  return {
    name,
    stream(input: AgentInput, run: RunOptions<Context> = {}) {
      const op = 'agent.stream'
      return open(startRun(op, run, fromInput(op, input)), run)
    },
    async run(input: AgentInput, run: RunOptions<Context> = {}) {
      const op = 'agent.run'
      const result = await open(startRun(op, run, fromInput(op, input)), run).result
      if (result.outcome === 'failed') throw result.error
      return result
    },
    plan(input: AgentInput, run: RunOptions<Context> = {}) {
      const op = 'agent.plan'
      return openPlan(startRun(op, run, fromInput(op, input), { planOnly: true }))
    },
    resume(events: readonly RunEvent[], options: RunOptions<Context> & WithDecisions = {}) {
      const op = 'agent.resume'
      if (!isObject(options as unknown))
        throw invalidInput(op, `the run options must be an object, not ${kindOf(options)}`)
      const { decisions = [], ...run } = options as RunOptions<Context> & WithDecisions
      return open(startRun(op, run, fromLog(op, events, decisions)), run, events)
    },
    asTool(toolOptions: AsToolOptions) {
      const op = 'agent.asTool'
      const startNested = (
        setup: (options: LoopOptions<Context>) => RunSetup,
        context: ToolContext<Context>,
      ) => {
        const run = { signal: context.signal, context: context.context }
        const { relay, observe, telemetry, policies, granted, budget, metadata, thread } =
          nestedRunOf(context)
        const parentRun = { policies, granted, budget, metadata, thread, runSignal: context.runSignal }
        const overrides = {
          relay: relay && ((event: RunEvent) => relay(event, name)),
          commit: context.commit,
          observe,
          telemetry: telemetry?.(),
          parentRun,
        }
        return open(startRun(op, run, setup, overrides), run)
      }
      const asTool = agentTool<Context>(
        {
          start: (prompt, context) => startNested(fromInput(op, prompt), context),
          resume(events, decisions, context) {
            const given = decisions.map(({ output, ...decision }) =>
              output ? { ...decision, output: toolContent(output) } : decision,
            )
            return startNested(fromLog(op, events, given), context)
          },
        },
        { ...toolOptions, name: toolOptions?.name ?? name },
      )
      return { ...asTool, notices }
    },
    [agentInternals]: {
      readMessage: (input, op, request) => readUserMessage(input, { op, model: modelOf(settings, request) }),
      readRequest: (request, op) => readRequest(request, settings, op),
      readHistory: (messages, op, request) =>
        readHistory(messages, { op, model: modelOf(settings, request) }),
      async readDecision(decision, state, op) {
        const tools = settings.tools()
        const [event] = readDecisions([decision], state, { tools, policy: settings.permission }, op) as [
          ApprovalEvent,
        ]
        await checkChangedInput(event, state, tools, op)
        return event
      },
      start(log, start, { context, conversation, metadata, budget, extension, ...more }) {
        const run = { context: context as Context, conversation, metadata, budget }
        const options = mergeOptions(run, 'thread.run', { ...more, inThread: true })
        return startLoop(newRunId(), { log, start }, extension ? extended(options, extension) : options)
      },
      describe: () => describeAgent(settings),
      notices,
    } satisfies AgentInternals,
  } as unknown as ReturnType<typeof agent<Tools, Output, Context, Name, Replaced>>
}

function extended<Context>(
  options: LoopOptions<Context>,
  { tools, policies }: RunExtension,
): LoopOptions<Context> {
  const acceptsTools = options.models[0]?.capabilities.tools
  return {
    ...options,
    ...(acceptsTools && { tools: () => withMore(options.tools(), tools()) }),
    parentPolicies: policies,
  }
}

function newRunId(): string {
  return `run_${crypto.randomUUID()}`
}

/** Cancels the run when the caller's signal aborts. Removes its listener when the run ends. */
function cancelWith(signal: AbortSignal, loop: Loop) {
  const cancel = () => {
    const { reason } = signal
    if (isHandover(reason)) return loop.abandon()
    // The default reason of `abort()`.
    const isDefaultReason = reason instanceof Error && reason.name === 'AbortError'
    loop.cancel(isDefaultReason ? 'canceled by the caller' : messageOf(reason))
  }
  if (signal.aborted) return cancel()
  signal.addEventListener('abort', cancel, { once: true })
  void loop.ended.then(() => signal.removeEventListener('abort', cancel))
}
