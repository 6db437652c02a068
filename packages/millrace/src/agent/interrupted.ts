import { MillraceError } from '../protocol/index.ts'

/** The error of a generation or run that was stopped on purpose. */
export function interrupted(message: string): MillraceError {
  return new MillraceError({ op: 'agent.run', code: 'stream_interrupted', message })
}
