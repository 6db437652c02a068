import { admitCall, guardOf } from '../tools/index.ts'
import type { RunResult, Started, Watchable } from './run.ts'
import { resultOf, watch } from './run.ts'
import type { CallTypes, PlannedCall } from './tool-types.ts'

export interface PlanResult<Calls extends CallTypes = CallTypes>
  extends RunResult<undefined, Calls['request']> {
  readonly calls: readonly Calls['planned'][]
}

/** One round, of which nothing is run. */
export interface Plan<Calls extends CallTypes = CallTypes> extends Watchable<Calls['event']> {
  /** Settles when the round is over, whatever came of it. Never rejects. */
  readonly result: Promise<PlanResult<Calls>>
}

export function openPlan<Context>(started: Started<Context>): Plan {
  return {
    ...watch(started as Started),
    result: resultOf(started as Started).then(async (result) => ({
      ...(result as RunResult),
      calls: await planCalls(started),
    })),
  }
}

/** What would become of each call of the round, in order. */
async function planCalls<Context>({ loop, log, options }: Started<Context>): Promise<PlannedCall[]> {
  const { beforeCall, context, permission } = options
  const { tools } = loop
  const state = log.run
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
