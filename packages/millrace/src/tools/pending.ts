import type { ApprovalRequestEvent } from '../protocol/index.ts'
import { invalidInput } from '../protocol/index.ts'

const brand = Symbol('millrace.pending')

/** What a tool returns instead of a result when the run inside it waits for a person. */
export interface Pending {
  readonly [brand]: readonly ApprovalRequestEvent[]
}

/** `requests` are the `approvals` of the run inside. Throws if there are none: nobody could ever answer. */
export function pending(requests: readonly ApprovalRequestEvent[]): Pending {
  if (requests.length === 0)
    throw invalidInput('pending', 'there is nothing to wait for: pass the approvals of a suspended run')
  return { [brand]: requests }
}

/** What is asked, if that is what was returned. */
export function pendingRequests(value: unknown): readonly ApprovalRequestEvent[] | undefined {
  return typeof value === 'object' && value !== null && brand in value ? (value as Pending)[brand] : undefined
}
