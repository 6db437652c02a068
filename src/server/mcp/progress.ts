import type { ThreadEvent } from '../../protocol/index.ts'
import { systemClock } from '../../protocol/index.ts'

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
  tell(event: ThreadEvent): void
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
    tell(event) {
      if (event.type === 'text') {
        words += event.text
        cancelFlush ??= systemClock.after(joinMs, flush)
        return
      }
      // Words that were taken back before they were sent need not be.
      if (event.type === 'round-retract') words = ''
      const message = inWords(event)
      if (message) say(message)
    },
    end() {
      flush()
      cancelBeat()
    },
  }
}

function inWords(event: ThreadEvent): string | undefined {
  switch (event.type) {
    case 'tool-start':
      return `${event.name} runs`
    case 'tool-result':
      return event.isError ? `${event.name} did not work: ${event.status}` : `${event.name} is done`
    case 'approval-request':
      return `${event.name} waits for a person to decide`
    case 'round-retract':
      return 'the answer begins again'
    default:
      return undefined
  }
}
