import { afterAll, beforeAll } from 'vitest'
import type { PostgresServer } from '../postgres-server.ts'
import { postgresServer } from '../postgres-server.ts'
import type { RedisServer } from '../redis-server.ts'
import { hasRedis, redisServer } from '../redis-server.ts'

/** What keeps the queue. */
export type QueueKind = 'redis' | 'postgres'

export const queueKinds: readonly QueueKind[] = hasRedis ? ['redis', 'postgres'] : ['postgres']

/** The servers that the processes of all tests of a file share. */
export interface Backends {
  readonly postgres: PostgresServer
  readonly redis: RedisServer
  /** The addresses of a new database, and of a new queue. */
  addresses(queue: QueueKind): Promise<{ readonly postgres: string; readonly queue: string }>
}

/** Starts PostgreSQL and Redis before the first test of the file, and stops them after the last. */
export function startBackends(): Backends {
  const servers: { postgres?: PostgresServer; redis?: RedisServer } = {}
  let databases = 0

  beforeAll(async () => {
    servers.postgres = await postgresServer()
    if (hasRedis) servers.redis = await redisServer()
  })
  afterAll(() => Promise.all([servers.postgres?.close(), servers.redis?.close()]))

  return {
    get postgres() {
      return servers.postgres as PostgresServer
    },
    get redis() {
      return servers.redis as RedisServer
    },
    async addresses(kind) {
      const number = ++databases
      const postgres = await this.postgres.database(`survival_${number}`)
      return { postgres, queue: kind === 'redis' ? `${this.redis.address}/${number}` : postgres }
    },
  }
}
