import { systemClock } from 'millrace/internal'
import type { Change } from 'millrace/view'

export interface ProgressOptions {
  /** Sends one notification. Must not throw. */
  readonly send: (progress: number, message: string) => void
  /** How long words wait for others, to go with them. */
  readonly joinMs?: number
  /** So often a sign of life is sent when there is nothing to tell: clients give up on a call that is silent. */
  readonly heartbeatMs: number
}

/** Tells in words how far a run is. */
export interface Progress {
  say(message: string): void
  tell(change: Change): void
  /** Sends what has not been sent, and nothing after that. */
  end(): void
}

export function progressOf({ send, joinMs = 100, heartbeatMs }: ProgressOptions): Progress {
  let count = 0
  let words = ''
  let cancelFlush: (() => void) | undefined
  let cancelBeat = beat()

  function beat() {
    return systemClock.after(heartbeatMs, () => say('still at work'))
  }

  function say(message: string) {
    flush()
    put(message)
  }

  function put(message: string) {
    cancelBeat()
    // It must grow with each, and nobody knows how far it will go.
    send(++count, message)
    cancelBeat = beat()
  }

  function flush() {
    cancelFlush?.()
    cancelFlush = undefined
    const text = words
    words = ''
    if (text) put(text)
  }

  return {
    say,
    tell(change) {
      if (change.text?.kind === 'text') {
        words += change.delta
        cancelFlush ??= systemClock.after(joinMs, flush)
        return
      }
      // Words that were taken back before they were sent need not be.
      if (change.round?.retracted) words = ''
      const message = inWords(change)
      if (message) say(message)
    },
    end() {
      flush()
      cancelBeat()
    },
  }
}

function inWords({ round, call, state }: Change): string | undefined {
  if (round?.retracted) return 'the answer begins again'
  if (!call || !state || call.provider) return undefined
  const { name, approvals, result } = call
  if (state === 'running') return `${name} runs`
  if (state === 'asking') return `${approvals.at(-1)?.request.name} waits for a person to decide`
  if (result) return result.isError ? `${name} did not work: ${state}` : `${name} is done`
  return undefined
}
