import type { Model, RunEvent } from '../protocol/index.ts'
import type { Schema, Tool } from '../tools/index.ts'
import type { AsToolOptions } from './as-tool.ts'
import { agentTool } from './as-tool.ts'
import { checkDecisions } from './decisions.ts'
import type { AgentInput } from './input.ts'
import { readInput, readLog } from './input.ts'
import type { Loop, LoopStart } from './loop.ts'
import { startLoop } from './loop.ts'
import type { AgentOptions, LoopOptions, OutputOf, RunOptions } from './options.ts'
import { checkAgentOptions, mergeRunOptions } from './options.ts'
import type { Plan } from './plan.ts'
import { openPlan } from './plan.ts'
import type { Decision, Run, RunResult } from './run.ts'
import { openRun, toApproval } from './run.ts'

type ResumeOptions<Context> = RunOptions<Context> & { readonly decisions?: readonly Decision[] }

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
    startFrom: (options: LoopOptions<Context>) => LoopStart,
    more: Pick<LoopOptions<Context>, 'planOnly' | 'relay'> = { planOnly: false },
  ) {
    checked ??= checkAgentOptions(options as AgentOptions<Context>, op)
    const merged = { ...mergeRunOptions(checked, run, op), ...more }
    const runId = `run_${crypto.randomUUID()}`
    const loop = startLoop(runId, startFrom(merged), merged)
    if (run.signal) cancelWith(run.signal, loop)
    return { loop, runId, options: merged }
  }

  function fromInput(op: string, input: AgentInput) {
    return ({ models }: LoopOptions<Context>) => readInput(input, { op, model: models[0] as Model })
  }

  function fromLog(op: string, events: readonly RunEvent[], decisions: readonly Decision[]) {
    return ({ tools }: LoopOptions<Context>) => {
      const { log, state } = readLog(events, op)
      return { log, decisions: checkDecisions(decisions, state, tools, op).map(toApproval) }
    }
  }

  /** `before` is the log that this run goes on from. */
  function open(
    { loop, runId, options }: ReturnType<typeof begin>,
    run: RunOptions<Context>,
    before: readonly RunEvent[] = [],
  ): Run<Answer> {
    return openRun<Answer>(loop, {
      id: runId,
      model: options.models[0] as Model,
      resume(events, decisions) {
        const op = 'run.resume'
        const log = [...before, ...events]
        return open(begin(op, run, fromLog(op, log, decisions)), run, log)
      },
    })
  }

  function stream(input: AgentInput, run: RunOptions<Context> = {}): Run<Answer> {
    const op = 'agent.stream'
    return open(begin(op, run, fromInput(op, input)), run)
  }

  return {
    name,
    stream,
    async run(input: AgentInput, run: RunOptions<Context> = {}) {
      const op = 'agent.run'
      const result = await open(begin(op, run, fromInput(op, input)), run).result
      if (result.outcome === 'failed') throw result.error
      return result
    },
    plan(input: AgentInput, run: RunOptions<Context> = {}): Plan {
      const op = 'agent.plan'
      return openPlan(begin(op, run, fromInput(op, input), { planOnly: true }))
    },
    resume(events: readonly RunEvent[], { decisions = [], ...run }: ResumeOptions<Context> = {}) {
      const op = 'agent.resume'
      return open(
        begin(op, run as RunOptions<Context>, fromLog(op, events, decisions)),
        run as RunOptions<Context>,
        events,
      )
    },
    asTool(toolOptions: AsToolOptions) {
      const op = 'agent.asTool'
      return agentTool<Context>(
        (prompt, { signal, context, relay, resumed }) => {
          const run = { signal, context }
          const from = resumed
            ? fromLog(op, unfinished(resumed.events), resumed.decisions)
            : fromInput(op, prompt)
          return open(begin(op, run, from, { planOnly: false, relay }), run)
        },
        { name, ...toolOptions },
      )
    },
  } as Agent<Context, Answer>
}

/**
 * The log of a sub-agent without its end, unless it waits for a person: if the caller's process died between that end and the
 * call's result, ending it once more is how the result is found.
 */
function unfinished(events: readonly RunEvent[]): readonly RunEvent[] {
  const last = events.at(-1)
  return last?.type === 'run-end' && last.outcome !== 'suspended' ? events.slice(0, -1) : events
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
