/** Shared by all copies of this package. */
const mark = Symbol.for('millrace.handover')

/**
 * The abort reason of a call's signal when its run continues in another process. To tools it looks
 * like any other abort.
 */
export function handoverReason(message: string): Error {
  return Object.assign(new DOMException(message, 'AbortError'), { [mark]: true })
}

export function isHandover(reason: unknown): boolean {
  return reason instanceof DOMException && mark in reason
}
