import { MillraceError } from '../../protocol/index.ts'

/** The provider's stream cannot be gone on with; another try may do better. */
export function streamError(message: string): MillraceError {
  return new MillraceError({ op: 'model.stream', code: 'stream_error', message })
}

/** A clean end of the connection is not the end of an answer. */
export function cutOff(provider: string): MillraceError {
  return streamError(`${provider} ended the stream without its terminal event: the answer is not complete`)
}

/** It would most likely come again and cost as much, so it is not retried. */
export function tooLongEvent(message: string): MillraceError {
  return new MillraceError({ op: 'model.stream', code: 'stream_error', message, retryable: false })
}
