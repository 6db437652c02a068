import type { RunEvent } from '../protocol/index.ts'
import type { Schema, Tool } from '../tools/index.ts'
import type { AsToolOptions } from './as-tool.ts'
import { agentTool } from './as-tool.ts'
import { checkDecisions } from './decisions.ts'
import type { AgentInput } from './input.ts'
import { readInput, readLog } from './input.ts'
import type { Loop, LoopOptions, LoopStart } from './loop.ts'
import { startLoop } from './loop.ts'
import type { AgentOptions, OutputOf, RunOptions } from './options.ts'
import { checkAgentOptions, mergeRunOptions } from './options.ts'
import type { Plan } from './plan.ts'
import { planCalls } from './plan.ts'
import type { Decision, Run, RunResult } from './run.ts'
import { openRun, toApproval, watch } from './run.ts'

/** The options of a run; not optional where the agent's tools need a context. */
type Options<Context, More = unknown> = unknown extends Context
  ? [options?: RunOptions<Context> & More]
  : [options: RunOptions<Context> & More & { readonly context: Context }]

export interface Agent<Context = unknown, Output = undefined> {
  readonly name: string
  /** Starts a run at once. Throws `invalid_input` if it cannot; whatever happens afterwards is told in the run. */
  stream(input: AgentInput, ...options: Options<Context>): Run<Output>
  /** The same, awaited. Rejects with the run's error if it failed. */
  run(input: AgentInput, ...options: Options<Context>): Promise<RunResult<Output>>
  /** Generates one round and tells which calls it would make, running none. */
  plan(input: AgentInput, ...options: Options<Context>): Plan
  /**
   * Goes on from the events of a run that was suspended, with the decisions it waited for, or that was cut off with its
   * process. No call with a result runs again; one in flight only if its tool says `repeat: 'safe'`.
   */
  resume(
    events: readonly RunEvent[],
    ...options: Options<Context, { readonly decisions?: readonly Decision[] }>
  ): Run<Output>
  /** The agent as a tool of another one. */
  asTool(options: AsToolOptions): Tool<Context>
}

/** Defines an agent. Nothing is checked or started before it is used. */
export function agent<Context = unknown, const Output extends Schema | undefined = undefined>(
  options: AgentOptions<Context, Output>,
): Agent<Context, OutputOf<Output>> {
  type Answer = OutputOf<Output>
  const name = options.name ?? 'agent'
  let checked: ReturnType<typeof checkAgentOptions<Context>> | undefined

  function begin(
    op: string,
    run: RunOptions<Context>,
    prepare: (options: LoopOptions<Context>) => LoopStart,
    planOnly = false,
  ): { loop: Loop; runId: string; options: LoopOptions<Context> } {
    checked ??= checkAgentOptions(options as AgentOptions<Context>, op)
    const merged = mergeRunOptions(checked, run, { op, planOnly })
    const runId = `run_${crypto.randomUUID()}`
    const loop = startLoop(runId, prepare(merged), merged)
    if (run.signal) cancelWith(run.signal, loop)
    return { loop, runId, options: merged }
  }

  function beginFromInput(op: string, input: AgentInput, run: RunOptions<Context>, planOnly = false) {
    return begin(op, run, ({ models: [model] }) => readInput(input, { op, model: model as never }), planOnly)
  }

  function open(
    { loop, runId, options: { models } }: ReturnType<typeof begin>,
    run: RunOptions<Context>,
    before: readonly RunEvent[],
  ): Run<Answer> {
    return openRun<Answer>(loop, {
      id: runId,
      model: models[0] as never,
      resume: (log, decisions) => resume('run.resume', [...before, ...log], { ...run, decisions }),
    })
  }

  function stream(input: AgentInput, run: RunOptions<Context> = {}): Run<Answer> {
    return open(beginFromInput('agent.stream', input, run), run, [])
  }

  function resume(
    op: string,
    events: readonly RunEvent[],
    { decisions = [], ...run }: RunOptions<Context> & { decisions?: readonly Decision[] },
  ): Run<Answer> {
    const begun = begin(op, run as RunOptions<Context>, ({ tools }) => {
      const { log, state } = readLog(events, op)
      return { log, decisions: checkDecisions(decisions, state, tools, op).map(toApproval) }
    })
    return open(begun, run as RunOptions<Context>, events)
  }

  return {
    name,
    stream,
    async run(input: AgentInput, run: RunOptions<Context> = {}) {
      const result = await open(beginFromInput('agent.run', input, run), run, []).result
      if (result.outcome === 'failed') throw result.error
      return result
    },
    plan(input: AgentInput, run: RunOptions<Context> = {}): Plan {
      const { loop, runId, options } = beginFromInput('agent.plan', input, run, true)
      const { result } = openRun<undefined>(loop, {
        id: runId,
        model: options.models[0] as never,
        resume: () => undefined as never,
      })
      return {
        ...watch(loop, runId),
        result: result.then(async (result) => ({ ...result, calls: await planCalls(loop, options) })),
      }
    },
    resume: (events: readonly RunEvent[], run = {}) => resume('agent.resume', events, run),
    asTool: (toolOptions: AsToolOptions) =>
      agentTool<Context>((prompt, { signal, context }) => stream(prompt, { signal, context }), {
        name,
        ...toolOptions,
      }),
  } as Agent<Context, Answer>
}

/** Cancels the run when the caller's signal says so; does not hold on to the signal after that. */
function cancelWith(signal: AbortSignal, loop: Loop) {
  const cancel = () => {
    const { reason } = signal
    loop.cancel(
      reason instanceof Error && reason.name !== 'AbortError' ? reason.message : 'cancelled by the caller',
    )
  }
  if (signal.aborted) return cancel()
  signal.addEventListener('abort', cancel, { once: true })
  void loop.ended.then(() => signal.removeEventListener('abort', cancel))
}
