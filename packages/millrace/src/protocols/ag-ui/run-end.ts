import type { ApprovalRequestEvent, Outcome, Usage } from '../../protocol/index.ts'
import { budgetQuestion } from '../../protocol/index.ts'

/** What a run that is suspended asks the user. */
export function interruptFor(
  { callId, name, input, reason, remember, budget }: ApprovalRequestEvent,
  subagentRunId: string | undefined,
) {
  return {
    id: callId,
    reason: budget ? 'millrace:budget' : 'tool_call',
    message: budget ? budgetQuestion(budget, input) : (reason ?? `Run ${name}?`),
    ...(!budget && { toolCallId: callId }),
    ...(subagentRunId !== undefined && { subagentRunId }),
    responseSchema: {
      type: 'object',
      properties: {
        approved: { type: 'boolean' },
        reason: { type: 'string' },
        editedArgs: { type: 'object' },
        ...(remember && { remember: { enum: remember.for } }),
      },
      required: ['approved'],
    },
    metadata: { toolName: name, input, ...(remember && { remember }) },
  }
}

export function outcomeOf(outcome: Outcome, interrupts: readonly object[]) {
  if (outcome === 'canceled') return { outcome: { type: 'cancelled' } }
  if (interrupts.length > 0) return { outcome: { type: 'interrupt', interrupts } }
  // A client that has to run a tool takes `success` as the end, and never sends the result.
  return outcome === 'suspended' ? {} : { outcome: { type: 'success' } }
}

/** Each model's own, and nothing that no provider reported. */
export function usageOf(usage: ReadonlyMap<string, Usage>) {
  const entries = [...usage].map(([model, used]) => ({
    ...(model && { model }),
    inputTokens: used.inputTokens,
    outputTokens: used.outputTokens,
    totalTokens: used.inputTokens + used.outputTokens,
    reasoningTokens: used.reasoningTokens,
    cachedInputTokens: used.cacheReadTokens,
    cacheWriteInputTokens: used.cacheWriteTokens,
  }))
  return entries.length > 0 && { usage: entries }
}
