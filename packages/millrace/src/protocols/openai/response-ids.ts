// The ids of items say where they are, so that clients that send whole conversations can refer to
// them, and no table is needed.

/** A response in a thread. */
export interface ResponsePlace {
  readonly threadId: string
  readonly start: number
}

export function itemId(kind: string, { threadId, start }: ResponsePlace, index: number): string {
  return `${kind}_${threadId}_${start}_${index}`
}

/** The response of an output item, and its index there, from an id that `itemId` made. */
export function readItemId(id: string): (ResponsePlace & { readonly index: number }) | undefined {
  const [, threadId, start, index] = /^[a-z]+_(.+)_(\d{1,15})_(\d{1,9})$/.exec(id) ?? []
  return threadId === undefined ? undefined : { threadId, start: Number(start), index: Number(index) }
}

/** Colons separate it, since ids of threads have none, and ids of calls may have anything. */
export function approvalId({ threadId, start }: ResponsePlace, callId: string): string {
  return `mcpr_${threadId}:${start}:${callId}`
}

/** The response that asked for approval, and the call, from an id that `approvalId` made. */
export function readApprovalId(id: string): (ResponsePlace & { readonly callId: string }) | undefined {
  const [, threadId, start, callId] = /^mcpr_([^:]+):(\d{1,15}):(.+)$/s.exec(id) ?? []
  return threadId === undefined || callId === undefined
    ? undefined
    : { threadId, start: Number(start), callId }
}
