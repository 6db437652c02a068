import { MillraceError } from '../../protocol/index.ts'

/** The provider's stream is broken; a retry may work. */
export function streamError(message: string): MillraceError {
  return new MillraceError({ op: 'model.stream', code: 'stream_error', message })
}

/** The connection closed cleanly, but before the end of the answer. */
export function cutOff(provider: string): MillraceError {
  return streamError(`${provider} ended the stream without its terminal event: the answer is not complete`)
}

/** Not retried: it would most likely happen again, at the same cost. */
export function tooLongEvent(message: string): MillraceError {
  return new MillraceError({ op: 'model.stream', code: 'stream_error', message, retryable: false })
}
