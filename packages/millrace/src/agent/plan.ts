import { admitCall, policyChain } from '../tools/index.ts'
import type { RunResult, RunStream, StartedRun } from './run.ts'
import { resultOf, runStream } from './run.ts'
import type { CallTypes, PlannedCall } from './tool-types.ts'

export interface PlanResult<Calls extends CallTypes = CallTypes>
  extends RunResult<undefined, Calls['request']> {
  readonly calls: readonly Calls['planned'][]
}

/** One round whose tool calls are not run. */
export interface Plan<Calls extends CallTypes = CallTypes> extends RunStream<Calls['event']> {
  /** Resolves when the round has ended, with any outcome. Never rejects. */
  readonly result: Promise<PlanResult<Calls>>
}

export function openPlan<Context>(started: StartedRun<Context>): Plan {
  return {
    ...runStream(started as StartedRun),
    result: resultOf(started as StartedRun).then(async (result) => ({
      ...(result as RunResult),
      calls: await planCalls(started),
    })),
  }
}

/** What would happen to each tool call of the round, in order. */
async function planCalls<Context>({ loop, log, options }: StartedRun<Context>): Promise<PlannedCall[]> {
  const { beforeCall, context, permission } = options
  const tools = loop.tools()
  const state = log.run
  const policies = policyChain({ policy: permission, granted: () => state.granted, parent: undefined })
  const calls = [...state.calls.values()].map(({ call }) => call)
  return Promise.all(
    calls.map(async (call): Promise<PlannedCall> => {
      const { callId, name, input } = call
      const admitted = await admitCall(
        { call, tools, attempt: 1 },
        { runId: state.runId, context, policies, repeats: undefined, beforeCall },
      )
      switch (admitted.type) {
        case 'rejected':
          return { callId, name, input, needsApproval: false, problem: admitted.reason }
        case 'ask':
          return { callId, name, input: admitted.request.input, needsApproval: true }
        case 'ready':
          return { callId, name, input: admitted.input, needsApproval: false }
      }
    }),
  )
}
