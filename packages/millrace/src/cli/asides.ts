import { dimmed } from './colors.ts'
import type { Output } from './output.ts'

/** Lines on what goes on, beside an answer. */
export interface Asides {
  tell(line: string): void
  /** They are known before the words that they are about are shown: where both stand in one place, they wait from here on. */
  hold(): void
  /** Gives those that wait, to be shown. */
  take(): readonly string[]
  /** Tells those that wait. */
  flush(): void
  /** The same, and from here on they do not wait. */
  release(): void
}

export function asidesOn(output: Pick<Output, 'tell'>): Asides {
  let holding = false
  let waiting: string[] = []

  function take() {
    const lines = waiting
    waiting = []
    return lines
  }

  function flush() {
    for (const line of take()) output.tell(dimmed(line))
  }

  return {
    tell(line) {
      waiting.push(line)
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
