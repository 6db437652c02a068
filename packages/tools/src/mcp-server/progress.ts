import type { ServerContext } from '@modelcontextprotocol/server'
import { systemClock } from 'millrace/internal'
import type { Change } from 'millrace/view'

export interface ProgressOptions {
  /** Sends one notification. Must not throw. */
  readonly send: (progress: number, message: string) => void
  /** How long text is collected before it is sent. */
  readonly joinMs?: number
  /** How often progress is sent while nothing happens: clients give up on a silent call. */
  readonly heartbeatMs: number
}

/** Reports the progress of a run as text. */
export interface Progress {
  report(message: string): void
  update(change: Change): void
  /** Sends the rest, and nothing afterwards. */
  end(): void
}

/** Reports to the client of a request, if it asked for it. */
export function progressFor(
  request: ServerContext['mcpReq'],
  heartbeatMs: number,
  meta?: Record<string, unknown>,
): Progress | undefined {
  const progressToken = request._meta?.progressToken
  if (progressToken === undefined) return undefined
  return progressOf({
    heartbeatMs,
    send(progress, message) {
      const params = { progressToken, progress, message, ...(meta && { _meta: meta }) }
      // A disconnected client is detected elsewhere.
      request.notify({ method: 'notifications/progress', params }).catch(() => {})
    },
  })
}

export function progressOf({ send, joinMs = 100, heartbeatMs }: ProgressOptions): Progress {
  let count = 0
  let words = ''
  let cancelFlush: (() => void) | undefined
  let cancelBeat = beat()

  function beat() {
    return systemClock.after(heartbeatMs, () => report('still working'))
  }

  function report(message: string) {
    flush()
    put(message)
  }

  function put(message: string) {
    cancelBeat()
    // The value must increase each time; the total is unknown.
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
    report,
    update(change) {
      if (change.text?.kind === 'text') {
        words += change.delta
        cancelFlush ??= systemClock.after(joinMs, flush)
        return
      }
      // Text retracted before it was sent is dropped.
      if (change.round?.retracted) words = ''
      const message = progressText(change)
      if (message) report(message)
    },
    end() {
      flush()
      cancelBeat()
    },
  }
}

/** What happens, if it is not text. */
export function progressText({ round, call, state }: Change): string | undefined {
  if (round?.retracted) return 'the answer was retracted and starts over'
  if (!call || !state || call.provider) return undefined
  const { name, approvals, result } = call
  if (state === 'running') return `running ${name}`
  if (state === 'asking') return `${approvals.at(-1)?.request.name} needs approval`
  if (result) return result.isError ? `${name} failed: ${state}` : `${name} finished`
  return undefined
}
