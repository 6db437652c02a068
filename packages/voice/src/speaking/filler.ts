import type { Clock } from 'millrace'

/** A line that is spoken while the user waits for a tool. */
export interface FillerOptions {
  /**
   * The line, or a function of the last started tool's name. Returns `undefined` to say nothing.
   */
  readonly text: string | ((tool: string) => string | undefined)
  /** The silence before the line is spoken. Default: 1500. */
  readonly afterMs?: number | undefined
}

export interface Filler {
  /** Reports the number of running tool calls. */
  callsChanged(running: number, name: string): void
  cancel(): void
}

const pollMs = 200

/** Speaks the line once per wait, however many tools are running. */
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
  let cancelPoll = () => {}

  function poll() {
    quietSince = isQuiet() ? (quietSince ?? clock.now()) : undefined
    if (quietSince === undefined || clock.now() - quietSince < afterMs) {
      cancelPoll = clock.after(pollMs, poll)
      return
    }
    try {
      const line = typeof text === 'function' ? text(tool) : text
      if (line?.trim()) say(line)
    } catch (error) {
      // `text` is user code and runs in a timer, where nothing would catch its exceptions.
      onError(error)
    }
  }

  function cancel() {
    isWaiting = false
    cancelPoll()
  }

  return {
    callsChanged(running, name) {
      if (running === 0) return cancel()
      tool = name
      if (isWaiting || !filler) return
      isWaiting = true
      quietSince = undefined
      poll()
    },
    cancel,
  }
}
