import { appendFileSync, readFileSync } from 'node:fs'

/** A side effect of a tool: one line when it starts, one when it is done. */
export interface Action {
  readonly part: 'begin' | 'end'
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
  appendFileSync(path, `${JSON.stringify({ ...action, pid: process.pid, at: Date.now() })}\n`)
}

export function readActions(path: string): Action[] {
  const lines = readFileSync(path, { encoding: 'utf8', flag: 'a+' }).split('\n')
  return lines.filter(Boolean).map((line) => JSON.parse(line))
}
