import type { Clock } from 'millrace'

/** A line that is spoken when a tool keeps the caller waiting. */
export interface FillerOptions {
  /** The line, or one for the tool that was begun last; nothing is said for `undefined`. */
  readonly text: string | ((tool: string) => string | undefined)
  /** After so long a silence; 1500 if absent. */
  readonly afterMs?: number | undefined
}

export interface Filler {
  /** So many calls are running. */
  calls(running: number, name: string): void
  cancel(): void
}

/** So often it is looked whether it has become quiet. */
const lookMs = 200

/** Says the line once for each wait, however many tools it is for. */
export function filler(options: {
  readonly filler: FillerOptions | undefined
  readonly clock: Clock
  readonly isQuiet: () => boolean
  readonly say: (text: string) => void
  readonly onError: (error: unknown) => void
}): Filler {
  const { filler, clock, isQuiet, say, onError } = options
  const { text, afterMs = 1500 } = filler ?? { text: '' }
  let tool = ''
  let isWaiting = false
  let quietSince: number | undefined
  let cancelLook = () => {}

  function look() {
    quietSince = isQuiet() ? (quietSince ?? clock.now()) : undefined
    if (quietSince === undefined || clock.now() - quietSince < afterMs) {
      cancelLook = clock.after(lookMs, look)
      return
    }
    try {
      const line = typeof text === 'function' ? text(tool) : text
      if (line?.trim()) say(line)
    } catch (error) {
      // Somebody else's function, called by a timer: nobody above would catch it.
      onError(error)
    }
  }

  function cancel() {
    isWaiting = false
    cancelLook()
  }

  return {
    calls(running, name) {
      if (running === 0) return cancel()
      tool = name
      if (isWaiting || !filler) return
      isWaiting = true
      quietSince = undefined
      look()
    },
    cancel,
  }
}
