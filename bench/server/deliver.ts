import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import type { Piece } from './bodies.ts'
import { stampLength } from './scenario.ts'

/** Writes as fast as the client reads, or as slowly as the scenario says. Ends early if the client is gone. */
export async function deliver(response: ServerResponse, pieces: Iterable<Piece>): Promise<void> {
  const times: string[] = []
  let due = performance.now()
  for (const piece of pieces) {
    if (piece.waitMs > 0) {
      // Against the clock and not after the last write, so that being late does not add up.
      due += piece.waitMs
      const late = performance.now() - due
      if (late < 0) await wait(-late)
    }
    if (response.destroyed) return
    const bytes = piece.stamps.length > 0 ? stamped(piece, times) : piece.bytes
    if (!response.write(bytes)) await drained(response)
  }
  response.end()
}

/** When there is room again, or nobody left to write to. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    function go() {
      response.off('drain', go).off('close', go)
      resolve()
    }
    response.on('drain', go).on('close', go)
  })
}

/** The monotonic clock is one for all processes of a machine. */
const now = () => String(process.hrtime.bigint()).padStart(stampLength, '0')

function stamped({ bytes, stamps }: Piece, times: string[]): Buffer {
  const copy = Buffer.from(bytes)
  for (const { at, index } of stamps) {
    times[index] ??= now()
    copy.write(times[index], at, 'latin1')
  }
  return copy
}
