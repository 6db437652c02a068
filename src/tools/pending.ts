import type { ApprovalRequestEvent } from '../protocol/index.ts'

const brand = Symbol('millrace.pending')

/** What a tool returns instead of a result when the run inside it waits for a person. */
export interface Pending {
  readonly [brand]: readonly ApprovalRequestEvent[]
}

export function pending(requests: readonly ApprovalRequestEvent[]): Pending {
  return { [brand]: requests }
}

/** What is asked, if that is what was returned. */
export function pendingRequests(value: unknown): readonly ApprovalRequestEvent[] | undefined {
  return typeof value === 'object' && value !== null && brand in value ? (value as Pending)[brand] : undefined
}
