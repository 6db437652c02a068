import type { ServerResponse } from 'node:http'
import type { Clock } from 'millrace'
import { sleep } from 'millrace/internal'
import type { Delivery, Op } from './delivery.ts'

interface DeliveryContext {
  readonly response: ServerResponse
  readonly clock: Clock
  /** Aborted when the client disconnects or the server closes. */
  readonly signal: AbortSignal
  readonly closed: Promise<void>
}

/** Runs a delivery on a socket. Resolves when it is done or the client has disconnected. */
export async function sendDelivery(
  { status, headers, ops }: Delivery,
  options: Omit<DeliveryContext, 'closed'>,
): Promise<void> {
  const { response, clock, signal } = options
  const closed = new Promise<void>((resolve) =>
    signal.addEventListener('abort', () => resolve(), { once: true }),
  )
  const context = { ...options, closed }
  for (const op of ops) {
    if (signal.aborted) return
    switch (op.op) {
      case 'headers':
        response.writeHead(status, headers)
        response.flushHeaders()
        break
      case 'write':
        await write(op.bytes, context)
        break
      case 'wait':
        await sleep(op.ms, { clock, signal })
        break
      case 'gate': {
        const isOpen = await Promise.race([op.gate, closed])
        if (!isOpen && !signal.aborted) return finish({ op: 'end' }, context)
        break
      }
      default:
        return finish(op, context)
    }
  }
}

async function finish(
  op: Exclude<Op, { op: 'headers' | 'write' | 'wait' | 'gate' }>,
  stage: DeliveryContext,
): Promise<void> {
  const { response, clock, signal } = stage
  switch (op.op) {
    case 'stall':
      return stage.closed
    case 'pings':
      while (!signal.aborted) {
        await write(op.bytes, stage)
        await sleep(op.everyMs, { clock, signal })
      }
      return
    case 'reset':
      // Let the written bytes leave the kernel's buffers, where a reset would drop them.
      await clock.turn()
      response.socket?.resetAndDestroy()
      return
    case 'end':
      response.end()
  }
}

/** Each write becomes its own chunk, sent before the next one. */
async function write(bytes: Uint8Array, { response, clock, signal, closed }: DeliveryContext): Promise<void> {
  if (signal.aborted) return
  await Promise.race([new Promise((resolve) => response.write(bytes, resolve)), closed])
  await clock.turn()
}
