import type { JsonObject } from '../protocol/index.ts'
import { admitCall, guardOf } from '../tools/index.ts'
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
  { beforeCall, context, permission }: LoopOptions<Context>,
): Promise<PlannedCall[]> {
  const guard = guardOf({ policy: permission, granted: () => state.granted, above: undefined })
  const calls = [...state.calls.values()].map(({ call }) => call)
  return Promise.all(
    calls.map(async (call): Promise<PlannedCall> => {
      const { callId, name, input } = call
      const admitted = await admitCall(
        { call, tools, attempt: 1 },
        { runId: state.runId, context, guard, repeats: undefined, beforeCall },
      )
      switch (admitted.type) {
        case 'refused':
          return { callId, name, input, needsApproval: false, problem: admitted.reason }
        case 'ask':
          return { callId, name, input: admitted.request.input, needsApproval: true }
        case 'ready':
          return { callId, name, input: admitted.input, needsApproval: false }
      }
    }),
  )
}
