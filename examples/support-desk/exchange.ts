import type { Agent, ApprovalRequestEvent, Decision, Message, RunEvent, RunResult } from 'millrace'

export interface ExchangeOptions {
  /** Ends it, wherever it is. */
  readonly signal: AbortSignal
  readonly onEvent: (event: RunEvent) => void
  /** Asks the person whether this call may run. */
  readonly decide: (request: ApprovalRequestEvent) => Promise<Decision>
}

/** One question and everything up to its answer. A call that a person must allow splits it into several runs. */
export async function exchange(
  desk: Agent,
  messages: readonly Message[],
  { signal, onEvent, decide }: ExchangeOptions,
): Promise<RunResult> {
  let run = desk.stream(messages, { signal })
  for (;;) {
    for await (const event of run) onEvent(event)
    const result = await run.result
    if (result.outcome !== 'suspended') return result
    const decisions: Decision[] = []
    for (const request of result.approvals) decisions.push(await decide(request))
    run = run.resume(decisions, { signal })
  }
}
