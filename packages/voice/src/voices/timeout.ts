import { MillraceError } from 'millrace'
import { systemClock } from 'millrace/internal'

/** Rejects with `timeout` after `ms`. `subject` starts the error message. */
export async function withTimeout<Value>(
  promise: Promise<Value>,
  ms: number,
  subject: string,
): Promise<Value> {
  const { promise: timeout, reject } = Promise.withResolvers<never>()
  const error = () =>
    new MillraceError({
      op: 'speech.synthesize',
      code: 'timeout',
      message: `${subject} sent nothing for ${ms} ms`,
    })
  const cancel = systemClock.after(ms, () => reject(error()))
  try {
    return await Promise.race([promise, timeout])
  } finally {
    cancel()
  }
}

/** The error for an aborted signal. */
export function aborted(): MillraceError {
  return new MillraceError({
    op: 'speech.synthesize',
    code: 'stream_interrupted',
    message: 'speech synthesis was aborted',
  })
}
