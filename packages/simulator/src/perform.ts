import type { ServerResponse } from 'node:http'
import type { Clock } from 'millrace'
import { sleep } from 'millrace/internal'
import type { Delivery, Op } from './delivery.ts'

interface Stage {
  readonly response: ServerResponse
  readonly clock: Clock
  /** Aborted when the client is gone or the server is closed. */
  readonly signal: AbortSignal
  readonly gone: Promise<void>
}

/** Does with the socket what the delivery says. Returns when it is over, or there is nobody left. */
export async function perform(
  { status, headers, ops }: Delivery,
  options: Omit<Stage, 'gone'>,
): Promise<void> {
  const { response, clock, signal } = options
  const gone = new Promise<void>((resolve) =>
    signal.addEventListener('abort', () => resolve(), { once: true }),
  )
  const stage = { ...options, gone }
  for (const op of ops) {
    if (signal.aborted) return
    switch (op.op) {
      case 'headers':
        response.writeHead(status, headers)
        response.flushHeaders()
        break
      case 'write':
        await write(op.bytes, stage)
        break
      case 'wait':
        await sleep(op.ms, { clock, signal })
        break
      case 'gate': {
        const isOpen = await Promise.race([op.gate, gone])
        if (!isOpen && !signal.aborted) return last({ op: 'end' }, stage)
        break
      }
      default:
        return last(op, stage)
    }
  }
}

async function last(
  op: Exclude<Op, { op: 'headers' | 'write' | 'wait' | 'gate' }>,
  stage: Stage,
): Promise<void> {
  const { response, clock, signal } = stage
  switch (op.op) {
    case 'stall':
      return stage.gone
    case 'pings':
      while (!signal.aborted) {
        await write(op.bytes, stage)
        await sleep(op.everyMs, { clock, signal })
      }
      return
    case 'reset':
      // What was written has left this process; now let it leave the machine's buffers, where a reset would drop it.
      await clock.turn()
      response.socket?.resetAndDestroy()
      return
    case 'end':
      response.end()
  }
}

/** Each write is a chunk of its own, and on its way before the next one. */
async function write(bytes: Uint8Array, { response, clock, signal, gone }: Stage): Promise<void> {
  if (signal.aborted) return
  await Promise.race([new Promise((resolve) => response.write(bytes, resolve)), gone])
  await clock.turn()
}
