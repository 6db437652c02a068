import type { ClientCapabilities, InputRequiredResult } from '@modelcontextprotocol/server'
import type { ApprovalRequestEvent, Thread } from 'millrace'
import { isMillraceError } from 'millrace'
import type { ConversationRef } from './results.ts'
import { describeCall } from './results.ts'
import type { Sdk } from './sdk.ts'

/** Where a call continues after the client's user has decided. */
export interface ResumePoint {
  readonly thread: string
  /** The number of the input; undefined if the prompt has not been sent yet. */
  readonly seq?: number
}

/**
 * Whether the client can show its user a form. A client that names no modes supports forms
 * (2025-06-18).
 */
export function canAsk(capabilities: ClientCapabilities | undefined): boolean {
  const elicitation = capabilities?.elicitation
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
}

/**
 * Asks the client's user about each pending call. A 2026-07-28 client sends the answers in a new request;
 * for older ones the SDK asks while the request is open. Either way the call starts over at `resumeAt`.
 */
export function askUser(
  { inputRequired }: Sdk,
  { agent }: ConversationRef,
  resumeAt: ResumePoint,
  approvals: readonly ApprovalRequestEvent[],
): InputRequiredResult {
  const questions = approvals.map((request) => [
    request.callId,
    inputRequired.elicit(questionOf(agent, request)),
  ])
  return inputRequired({
    inputRequests: Object.fromEntries(questions),
    requestState: JSON.stringify(resumeAt),
  })
}

/** The form that asks a user about a call. */
export function questionOf(agent: string, request: ApprovalRequestEvent) {
  return {
    message: request.budget
      ? `The agent '${agent}' asks: ${describeCall(request)} Accept to approve.`
      : `The agent '${agent}' wants to run ${describeCall(request)}. Accept to approve.`,
    // An empty form: whether the user accepts it is the answer.
    requestedSchema: { type: 'object' as const, properties: {} },
  }
}

/**
 * Parses the state that a client sent back. It is not signed, since it grants nothing: the caller must be
 * able to see the thread, and can only decide about pending calls there.
 */
export function parseResumePoint(state: unknown): ResumePoint | undefined {
  if (typeof state !== 'string') return undefined
  try {
    const { thread, seq } = JSON.parse(state)
    if (typeof thread !== 'string') return undefined
    return Number.isSafeInteger(seq) && seq > 0 ? { thread, seq } : { thread }
  } catch {
    return undefined
  }
}

/** Throws for what this server cannot have sent: without it, the call would start over. */
export function checkResumePoint(state: string): void {
  if (!parseResumePoint(state)) throw new Error('the request state was changed')
}

/** Records the user's decisions. Returns false if some questions were not answered. */
export async function decide(
  { inputResponse }: Sdk,
  thread: Thread,
  responses: Record<string, unknown> | undefined,
): Promise<boolean> {
  const { approvals } = await thread.state({ bytes: 0 })
  let answered = true
  for (const { callId } of approvals) {
    const response = inputResponse(responses, callId)
    if (response.kind !== 'elicit' || response.action === 'cancel') {
      answered = false
      continue
    }
    const approved = response.action === 'accept'
    const reason = approved ? undefined : 'the user denied'
    await thread.approve(callId, { approved, reason }).catch(ignoreDecided)
  }
  return answered
}

/** Another client may have decided first. */
function ignoreDecided(error: unknown) {
  if (!isMillraceError(error) || error.code !== 'conflict') throw error
}
