import { dimmed } from './colors.ts'
import type { Output } from './output.ts'

/** Log lines that are printed around an answer. */
export interface LogLines {
  write(line: string): void
  /** Collects lines from now on. A line is written before the text it refers to is on the screen. */
  hold(): void
  /** Removes and returns the collected lines. */
  take(): readonly string[]
  /** Prints the collected lines. */
  flush(): void
  /** Prints the collected lines, and stops collecting. */
  release(): void
}

export function logLinesOn(output: Pick<Output, 'note'>): LogLines {
  let holding = false
  let collected: string[] = []

  function take() {
    const lines = collected
    collected = []
    return lines
  }

  function flush() {
    for (const line of take()) output.note(dimmed(line))
  }

  return {
    write(line) {
      collected.push(line)
      if (!holding) flush()
    },
    hold() {
      holding = true
    },
    take,
    flush,
    release() {
      holding = false
      flush()
    },
  }
}
