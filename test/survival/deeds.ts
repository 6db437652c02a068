import { appendFileSync, readFileSync } from 'node:fs'

/** That a tool has done something in the world: one line when it begins, one when it is done. */
export interface Deed {
  readonly part: 'begin' | 'end'
  readonly tool: string
  /** What the model wants done, the same however often it asks. */
  readonly op: string
  readonly callId: string
  readonly key: string
  readonly attempt: number
  readonly pid: number
  readonly at: number
}

/** One write to a file that is opened for appending: a line is there whole or not at all, also when the process dies next. */
export function writeDeed(path: string, deed: Omit<Deed, 'pid' | 'at'>): void {
  appendFileSync(path, `${JSON.stringify({ ...deed, pid: process.pid, at: Date.now() })}\n`)
}

export function readDeeds(path: string): Deed[] {
  const lines = readFileSync(path, { encoding: 'utf8', flag: 'a+' }).split('\n')
  return lines.filter(Boolean).map((line) => JSON.parse(line))
}
