import type { MillraceError } from '../protocol/index.ts'

/** Who is told of what goes wrong in the background: the caller's own, or stderr. A listener that fails stops nothing. */
export function errorListener(
  listener: (error: MillraceError) => unknown = tellStderr,
): (error: MillraceError) => void {
  return (error) => {
    try {
      const told = listener(error)
      if (told instanceof Promise) told.catch(() => tellStderr(error))
    } catch {
      tellStderr(error)
    }
  }
}

function tellStderr(error: MillraceError) {
  // Without Node there is no stderr to write to.
  globalThis.process?.stderr?.write(`millrace: ${error.op}: ${error.message}\n`)
}
