import type { ApprovalRequestEvent } from '../protocol/index.ts'
import { invalidInput } from '../protocol/index.ts'

const brand = Symbol('millrace.pending')

/** What a tool returns instead of a result when its nested run waits for approval. */
export interface Pending {
  readonly [brand]: readonly ApprovalRequestEvent[]
}

/**
 * `requests` are the `approvals` of the nested run. Throws if there are none: the call could never
 * continue.
 */
export function pending(requests: readonly ApprovalRequestEvent[]): Pending {
  if (requests.length === 0)
    throw invalidInput('pending', 'there is nothing to wait for: pass the approvals of a suspended run')
  return { [brand]: requests }
}

/** The approval requests, if the value was created by `pending()`. */
export function pendingRequests(value: unknown): readonly ApprovalRequestEvent[] | undefined {
  return typeof value === 'object' && value !== null && brand in value ? (value as Pending)[brand] : undefined
}
