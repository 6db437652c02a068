import { existsSync, readFileSync } from 'node:fs'

export interface Action {
  readonly tool: string
  readonly part: 'begin' | 'end'
  /** The process that the tool started. */
  readonly pid?: number | undefined
}

/** What the tools did so far, in all processes. */
export function readActions(file: string): Action[] {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}
