import type { ApprovalEvent, Message, RunEvent, RunStartEvent, RunState } from '../protocol/index.ts'
import { PROTOCOL_VERSION } from '../protocol/index.ts'

/** Where a run begins: a conversation to answer, or the log of a run to go on with. */
export type LoopStart =
  | { readonly input: readonly Message[]; readonly repairs: readonly string[] }
  | { readonly log: readonly RunEvent[]; readonly decisions: readonly ApprovalEvent[] }
  | ThreadStart

/** In a thread the conversation stands in a log that holds more than this run, and is folded already. */
export interface ThreadStart {
  readonly state: RunState
  /** What the run that this one goes on with has told; empty if it is a new one. */
  readonly told: readonly RunEvent[]
  /** The numbers of the inputs that a new one answers. */
  readonly heard: readonly number[]
  readonly losses: number
}

/** Whether it goes on with a run, or begins a new one. */
export function goesOn(start: LoopStart): boolean {
  return 'log' in start || ('heard' in start && start.heard.length === 0)
}

/** The first event of a run. `before` is the run that it goes on from, if it does. */
export function runStart(
  runId: string,
  start: LoopStart,
  { agent, before, trace }: { agent: string; before: string; trace: string | undefined },
): RunStartEvent {
  const first = {
    type: 'run-start',
    version: PROTOCOL_VERSION,
    runId,
    agent,
    ...(trace !== undefined && { trace }),
  } as const
  if ('log' in start) return { ...first, input: [], resumes: before }
  if ('input' in start)
    return { ...first, input: start.input, ...(start.repairs.length > 0 && { repairs: start.repairs }) }
  return {
    ...first,
    input: [],
    ...(goesOn(start) ? { resumes: before } : { heard: start.heard }),
    ...(start.losses > 0 && { losses: start.losses }),
  }
}
