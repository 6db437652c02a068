import type { ClientCapabilities, InputRequiredResult } from '@modelcontextprotocol/server'
import type { ApprovalRequestEvent, Thread } from 'millrace'
import { isMillraceError } from 'millrace'
import type { Asked } from './results.ts'
import { callInWords } from './results.ts'
import type { Sdk } from './sdk.ts'

/** Where a call goes on once its client's user has decided. */
export interface Place {
  readonly thread: string
  /** The number of the input that it is about; none if the prompt is still to be said. */
  readonly seq?: number
}

/** Whether the client can put a form before its user. One that says nothing of modes means forms (2025-06-18). */
export function canAsk(capabilities: ClientCapabilities | undefined): boolean {
  const elicitation = capabilities?.elicitation
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
}

/**
 * Asks the client's user about each call that waits. A client of 2026-07-28 comes back with the answers in a request of its own;
 * for one before it the SDK asks while its request is open. Either way the call begins anew, at its place.
 */
export function askUser(
  { inputRequired }: Sdk,
  { agent }: Asked,
  place: Place,
  approvals: readonly ApprovalRequestEvent[],
): InputRequiredResult {
  const questions = approvals.map((request) => [
    request.callId,
    inputRequired.elicit({
      message: `The agent '${agent}' wants to run ${callInWords(request)}. Accept to allow it.`,
      // Nothing is to be filled in: to accept or to decline says it.
      requestedSchema: { type: 'object', properties: {} },
    }),
  ])
  return inputRequired({ inputRequests: Object.fromEntries(questions), requestState: JSON.stringify(place) })
}

/**
 * Reads a place that came back from a client. It is signed by nobody, since it opens nothing: whoever brings it must be able to
 * reach the thread, and only what waits there can be decided.
 */
export function placeOf(state: unknown): Place | undefined {
  if (typeof state !== 'string') return undefined
  try {
    const { thread, seq } = JSON.parse(state)
    if (typeof thread !== 'string') return undefined
    return Number.isSafeInteger(seq) && seq > 0 ? { thread, seq } : { thread }
  } catch {
    return undefined
  }
}

/** Writes down what the user has decided. False if it did not answer all of what was asked. */
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
    const reason = approved ? undefined : 'the user declined'
    await thread.approve(callId, { approved, reason }).catch(unlessDecided)
  }
  return answered
}

/** Somebody else may have been quicker. */
function unlessDecided(error: unknown) {
  if (!isMillraceError(error) || error.code !== 'conflict') throw error
}
