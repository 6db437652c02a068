import type { Exchange, OptionTable } from '../../protocol/index.ts'
import { checkOptions, wholeNumber } from '../../protocol/index.ts'
import type { ExchangeStore } from './store.ts'

export interface MemoryExchangesOptions {
  /** 64 MiB if absent. The oldest are forgotten first. */
  readonly maxBytes?: number | undefined
}

const table: OptionTable<MemoryExchangesOptions> = { maxBytes: wholeNumber(1) }

interface Kept {
  readonly threadId: string
  readonly runId: string
  readonly round: number
  readonly json: string
  readonly bytes: number
}

/** Keeps exchanges as long as the process lives. */
export function memoryExchanges(options: MemoryExchangesOptions = {}): ExchangeStore {
  checkOptions(options, table, { op: 'memoryExchanges', what: 'the option' })
  const { maxBytes = 64 * 1024 * 1024 } = options
  /** In the order in which they came. */
  const kept = new Map<string, Kept>()
  let bytes = 0

  function forget(key: string) {
    bytes -= kept.get(key)?.bytes ?? 0
    kept.delete(key)
  }

  function keptOf(threadId: string, runId: string): Kept[] {
    return [...kept.values()].filter((one) => one.threadId === threadId && one.runId === runId)
  }

  return {
    put(threadId, exchange) {
      const { runId, round, attempt } = exchange
      const key = JSON.stringify([threadId, runId, round, attempt])
      const json = JSON.stringify(exchange)
      forget(key)
      const size = bytesOf(json)
      kept.set(key, { threadId, runId, round, json, bytes: size })
      bytes += size
      for (const oldest of kept.keys()) {
        if (bytes <= maxBytes) break
        forget(oldest)
      }
    },
    async rounds(threadId, runId) {
      return keptOf(threadId, runId).map(({ round }) => round)
    },
    async read(threadId, runId, round) {
      const found = keptOf(threadId, runId).filter((one) => (round ?? one.round) === one.round)
      return found.map(({ json }): Exchange => JSON.parse(json))
    },
    async delete(threadId) {
      for (const [key, one] of kept) if (one.threadId === threadId) forget(key)
    },
  }
}

/** As it lies in memory: a single character beyond Latin-1, such as a dash, makes all of them take two bytes. */
function bytesOf(text: string): number {
  return /[^\0-\xff]/.test(text) ? 2 * text.length : text.length
}
