import type { Exchange, OptionTable } from '../../protocol/index.ts'
import { checkOptions, wholeNumber } from '../../protocol/index.ts'
import type { ExchangeStore } from './store.ts'

export interface MemoryExchangesOptions {
  /** Default: 64 MiB. The oldest exchanges are dropped first. */
  readonly maxBytes?: number | undefined
}

const table: OptionTable<MemoryExchangesOptions> = { maxBytes: wholeNumber(1) }

interface StoredExchange {
  readonly threadId: string
  readonly runId: string
  readonly round: number
  readonly json: string
  readonly bytes: number
}

/** Stores exchanges in memory, for the lifetime of the process. */
export function memoryExchanges(options: MemoryExchangesOptions = {}): ExchangeStore {
  checkOptions(options, table, { op: 'memoryExchanges', what: 'the option' })
  const { maxBytes = 64 * 1024 * 1024 } = options
  /** In order of arrival. */
  const exchanges = new Map<string, StoredExchange>()
  let bytes = 0

  function remove(key: string) {
    bytes -= exchanges.get(key)?.bytes ?? 0
    exchanges.delete(key)
  }

  function exchangesOf(threadId: string, runId: string): StoredExchange[] {
    return [...exchanges.values()].filter((one) => one.threadId === threadId && one.runId === runId)
  }

  return {
    put(threadId, exchange) {
      const { runId, round, attempt } = exchange
      const key = JSON.stringify([threadId, runId, round, attempt])
      const json = JSON.stringify(exchange)
      remove(key)
      const size = bytesOf(json)
      exchanges.set(key, { threadId, runId, round, json, bytes: size })
      bytes += size
      for (const oldest of exchanges.keys()) {
        if (bytes <= maxBytes) break
        remove(oldest)
      }
    },
    async rounds(threadId, runId) {
      return exchangesOf(threadId, runId).map(({ round }) => round)
    },
    async read(threadId, runId, round) {
      const found = exchangesOf(threadId, runId).filter((one) => (round ?? one.round) === one.round)
      return found.map(({ json }): Exchange => JSON.parse(json))
    },
    async delete(threadId) {
      for (const [key, one] of exchanges) if (one.threadId === threadId) remove(key)
    },
  }
}

/**
 * Size in memory: a single character beyond Latin-1, such as a dash, makes all of them take two
 * bytes.
 */
function bytesOf(text: string): number {
  return /[^\0-\xff]/.test(text) ? 2 * text.length : text.length
}
