import type { JsonObject } from '../protocol/index.ts'
import { messageOf } from '../protocol/index.ts'
import { asksPerson, prepareCall } from '../tools/index.ts'
import type { Loop } from './loop.ts'
import type { LoopOptions } from './options.ts'
import type { RunResult, Watchable } from './run.ts'
import { resultOf, watch } from './run.ts'

/** A call that the model asked for and nobody ran. */
export interface PlannedCall {
  readonly callId: string
  readonly name: string
  readonly input: JsonObject
  /** A person would be asked first. */
  readonly needsApproval: boolean
  /** Why it could not be run. */
  readonly problem?: string
}

export interface PlanResult extends RunResult<undefined> {
  readonly calls: readonly PlannedCall[]
}

/** One round, of which nothing is run. */
export interface Plan extends Watchable {
  /** Settles when the round is over, whatever came of it. Never rejects. */
  readonly result: Promise<PlanResult>
}

export function openPlan<Context>({
  loop,
  runId,
  options,
}: {
  loop: Loop
  runId: string
  options: LoopOptions<Context>
}): Plan {
  return {
    ...watch(loop, runId),
    result: resultOf<undefined>(loop).then(async (result) => ({
      ...result,
      calls: await planCalls(loop, options),
    })),
  }
}

/** What would become of each call of the round, in order. */
async function planCalls<Context>(
  { state, tools }: Loop,
  { beforeCall, context }: LoopOptions<Context>,
): Promise<PlannedCall[]> {
  const calls = [...state.calls.values()].map(({ call }) => call)
  return Promise.all(
    calls.map(async (call): Promise<PlannedCall> => {
      const { callId, name, input } = call
      const prepared = await prepareCall(call, { tools, beforeCall, runId: state.runId, context })
      if (prepared.type === 'refused')
        return { callId, name, input, needsApproval: false, problem: prepared.reason }
      try {
        const asks = await prepared.tool.approve(prepared.value, { callId, context })
        return { callId, name, input: prepared.input, needsApproval: asksPerson(asks) }
      } catch (error) {
        const problem = `whether it needs approval could not be decided (${messageOf(error)})`
        return { callId, name, input, needsApproval: false, problem }
      }
    }),
  )
}
