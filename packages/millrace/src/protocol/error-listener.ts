import type { MillraceError } from './errors.ts'

/**
 * Reports errors in the background to the given listener, or to stderr. A listener that fails is
 * harmless.
 */
export function errorListener(
  listener: (error: MillraceError) => unknown = writeToStderr,
): (error: MillraceError) => void {
  return (error) => {
    try {
      const result = listener(error)
      if (result instanceof Promise) result.catch(() => writeToStderr(error))
    } catch {
      writeToStderr(error)
    }
  }
}

function writeToStderr(error: MillraceError) {
  // Outside Node there is no stderr.
  globalThis.process?.stderr?.write(`millrace: ${error.op}: ${error.message}\n`)
}
