import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from 'millrace'
import type { OptionTable } from 'millrace/internal'
import { systemClock, yesOrNo } from 'millrace/internal'
import { checkKitOptions, clockProblem } from 'millrace/internal/testing'
import { type Cassette, type CassetteExchange, checkCassette, readChunk } from './cassette.ts'
import type { Closable } from './closable.ts'
import type { Op } from './delivery.ts'
import { differenceOf } from './difference.ts'
import { answerWithError } from './error-answer.ts'
import { listen, openSignal, readBytes } from './http-listener.ts'
import { sendDelivery } from './send-delivery.ts'

export interface ReplayCassetteOptions {
  /** Keeps the recorded delays between chunks. Default: as fast as possible. */
  readonly paced?: boolean
  readonly clock?: Clock
}

export interface CassettePlayer extends Closable {
  /** `http://127.0.0.1:PORT` */
  readonly url: string
  /** The same with `/v1`. */
  readonly baseURL: string
  /** The number of exchanges that were not requested yet. */
  readonly left: number
  /** The number of open connections. */
  readonly sockets: number
}

const table: OptionTable<ReplayCassetteOptions> = { paced: yesOrNo, clock: clockProblem }

/**
 * A server that replays recorded responses in order, with their original chunks. A request that
 * differs from the recorded one gets a 400 that says what is different.
 */
export async function replayCassette(
  recorded: Cassette | string,
  options: ReplayCassetteOptions = {},
): Promise<CassettePlayer> {
  checkKitOptions(options, table, 'replayCassette')
  const { paced = false, clock = systemClock } = options
  const { exchanges } = checkCassette(recorded, 'replayCassette')
  let next = 0

  async function onRequest(request: IncomingMessage, response: ServerResponse) {
    const { signal, off } = openSignal(response, server.closing)
    try {
      const body = await readBytes(request)
      const exchange = exchanges[next]
      const message = exchange
        ? differenceOf(request, body, exchange, next)
        : `no more recorded exchanges: the cassette has ${next}`
      if (!exchange || message !== undefined)
        return answerWithError(response, { status: 400, code: 'cassette_mismatch', message: message ?? '' })
      next++
      await sendDelivery(deliveryOf(exchange, paced), { response, clock, signal })
    } finally {
      off()
    }
  }

  const server = await listen({ onRequest })
  return {
    url: server.url,
    baseURL: `${server.url}/v1`,
    get left() {
      return exchanges.length - next
    },
    get sockets() {
      return server.sockets
    },
    close: server.close,
    [Symbol.asyncDispose]: server.close,
  }
}

function deliveryOf({ response }: CassetteExchange, paced: boolean) {
  const ops = response.chunks.flatMap((chunk, event): Op[] => [
    ...(paced && chunk.afterMs > 0 ? [{ op: 'wait', ms: chunk.afterMs } as const] : []),
    { op: 'write', bytes: readChunk(chunk), event },
  ])
  const last: Op = response.complete ? { op: 'end' } : { op: 'reset' }
  const headers = { ...response.headers, connection: 'close' }
  return { status: response.status, headers, ops: [{ op: 'headers' } as const, ...ops, last], faults: [] }
}
