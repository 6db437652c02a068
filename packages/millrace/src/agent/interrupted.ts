import { MillraceError } from '../protocol/index.ts'

/** Why something ends that somebody wanted to end. */
export function interrupted(message: string): MillraceError {
  return new MillraceError({ op: 'agent.run', code: 'stream_interrupted', message })
}
