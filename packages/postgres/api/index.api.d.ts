import { Queue } from 'bullmq'

import { RedisOptions } from 'ioredis'

import { Dispatcher, ExchangeStore, WokenThread } from 'millrace'

import { ThreadStore } from 'millrace/store'

import { PoolConfig } from 'pg'

interface BullmqDispatcher extends Dispatcher {
  wake(thread: WokenThread): Promise<void>
  queues(agents: readonly string[]): Queue[]
  close(): Promise<void>
}

interface BullmqOptions {
  readonly redis?: string | RedisConfig | undefined
  readonly postgres?: string | PoolConfig | undefined
  readonly prefix?: string | undefined
  readonly lockMs?: number | undefined
}

interface PostgresExchangesOptions {
  readonly maxBytes?: number | undefined
}

interface PostgresStoreOptions {
  readonly schema?: string | undefined
  readonly connections?: number | undefined
  readonly listenUrl?: string | undefined
  readonly timeoutMs?: number | undefined
  readonly retryMs?: number | undefined
  readonly now?: (() => number) | undefined
}

type RedisConfig = Omit<RedisOptions, 'replyMapping'>

declare function bullmq(options: BullmqOptions): BullmqDispatcher

declare function postgresExchanges(store: ThreadStore, options?: PostgresExchangesOptions): ExchangeStore

declare function postgresStore(url: string, options?: PostgresStoreOptions): ThreadStore

export {
  type BullmqDispatcher,
  type BullmqOptions,
  type PostgresExchangesOptions,
  type PostgresStoreOptions,
  bullmq,
  postgresExchanges,
  postgresStore,
}
