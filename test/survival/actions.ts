import { appendFileSync, readFileSync } from 'node:fs'
import { machineTime } from './skewed-clock.ts'

/** A side effect of a tool: a line when it starts, and when it is done or its signal is aborted. */
export interface Action {
  readonly part: 'begin' | 'end' | 'abort'
  readonly tool: string
  /** What the model wants done; the same for every attempt. */
  readonly op: string
  readonly callId: string
  readonly key: string
  readonly attempt: number
  readonly pid: number
  readonly at: number
}

/**
 * One append to the file: a line is written completely or not at all, even if the process dies
 * next.
 */
export function writeAction(path: string, action: Omit<Action, 'pid' | 'at'>): void {
  appendFileSync(path, `${JSON.stringify({ ...action, pid: process.pid, at: machineTime() })}\n`)
}

export function readActions(path: string): Action[] {
  const lines = readFileSync(path, { encoding: 'utf8', flag: 'a+' }).split('\n')
  return lines.filter(Boolean).map((line) => JSON.parse(line))
}
