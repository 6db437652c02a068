import type { Entry, ThreadEvent } from '../protocol/index.ts'
import { titleOf } from './title.ts'
import { heardBy, isWaitingInput } from './usage.ts'

// What a fork has to know of the entries that it copies.

export interface CopiedLog {
  readonly title: string | undefined
  readonly inputs: number
  readonly heard: number
  /** A run has begun and not ended. */
  readonly isRunning: boolean
}

export const emptyCopy: CopiedLog = { title: undefined, inputs: 0, heard: 0, isRunning: false }

export function addToCopy(log: CopiedLog, event: ThreadEvent): CopiedLog {
  const isEdge = event.type === 'run-start' || event.type === 'run-end'
  return {
    title: log.title ?? titleOf([{ event }]),
    inputs: log.inputs + (isWaitingInput(event) ? 1 : 0),
    heard: log.heard + heardBy(event),
    isRunning: isEdge ? event.type === 'run-start' : log.isRunning,
  }
}

/** What is under way in the thread goes on there, not in its fork: this ends it in the fork. */
export function endOfCopy(seq: number, at: number): Entry {
  return { seq, at, event: { type: 'stop', reason: 'the thread was forked here' } }
}
