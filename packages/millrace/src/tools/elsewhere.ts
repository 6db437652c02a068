/** Shared by all copies of this package. */
const mark = Symbol.for('millrace.elsewhere')

/** Why the signal of a call is aborted when its run goes on in another process. To whoever does not know, it is like any other. */
export function elsewhere(message: string): Error {
  return Object.assign(new DOMException(message, 'AbortError'), { [mark]: true })
}

export function isElsewhere(reason: unknown): boolean {
  return reason instanceof DOMException && mark in reason
}
