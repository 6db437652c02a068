import { MillraceError } from 'millrace'
import { systemClock } from 'millrace/internal'

/** Waits no longer than `ms` for what somebody else is to give; `who` begins the sentence that is thrown then. */
export async function patient<Value>(promise: Promise<Value>, ms: number, who: string): Promise<Value> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const error = () =>
    new MillraceError({
      op: 'speech.synthesize',
      code: 'timeout',
      message: `${who} has given nothing for ${ms} ms`,
    })
  const cancel = systemClock.after(ms, () => reject(error()))
  try {
    return await Promise.race([promise, late])
  } finally {
    cancel()
  }
}

/** What is thrown where a sentence is not wanted any more. */
export function interrupted(): MillraceError {
  return new MillraceError({
    op: 'speech.synthesize',
    code: 'stream_interrupted',
    message: 'the sentence is not wanted any more',
  })
}
