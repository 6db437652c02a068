import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PostgresConnectionOptions, PostgresPoolConfig, Queue } from 'bullmq'
import { PostgresConnection, PostgresQueueBackend, runMigrations, withBackend } from 'bullmq'
import type { PoolConfig } from 'pg'
import type { QueueServer } from './queue-server.ts'
import { addMs, answerMs, watchFetches } from './queue-server.ts'

/** How long PostgreSQL may take to end a connection. */
const closeMs = 2000

export function postgresServer(postgres: string | PoolConfig, prefix: string): QueueServer {
  const given = typeof postgres === 'string' ? { connectionString: postgres } : postgres
  let adder: MigratedConnection | undefined

  const connect = (timeoutMs: number) =>
    new MigratedConnection({
      max: 2,
      keepAlive: true,
      ...given,
      schema: `${prefix}_queue`,
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs,
    } as PostgresPoolConfig)

  function adding(): MigratedConnection {
    adder ??= connect(addMs)
    return adder
  }

  return {
    name: 'PostgreSQL',
    queue(name, options) {
      const classes = withBackend<PostgresQueueBackend, PostgresConnectionOptions>(
        (queue, opts) => new PostgresQueueBackend(adding(), queue, opts, false),
      )
      return new classes.Queue(name, { ...options, connection: '' }) as unknown as Queue
    },
    connected: () => adding().waitUntilReady(),
    worker(name, processor, options, { onError, onFetch }) {
      const { Worker } = withBackend<PatientBackend, PostgresConnectionOptions>(
        (queue, opts) => new PatientBackend(connect(answerMs), queue, opts, true, queue),
      )
      const worker = new Worker(name, processor, { ...options, connection: '' }).on('error', onError)
      watchFetches(worker.getBackend(), onFetch)
      return worker
    },
    async close() {
      await adder?.close()
    },
  }
}

class MigratedConnection extends PostgresConnection {
  #ready: Promise<void> | undefined
  #listener: Socket | undefined

  /** Tries again if it fails. BullMQ's own would reject from then on. */
  override waitUntilReady(): Promise<void> {
    this.#ready ??= this.#migrate().catch((thrown) => {
      this.#ready = undefined
      throw thrown
    })
    return this.#ready
  }

  override async getListenClient() {
    const client = await super.getListenClient()
    this.#listener = (client as unknown as { connection: { stream: Socket } }).connection.stream
    return client
  }

  /** Does not wait for the answer of a dead connection. */
  override async close(): Promise<void> {
    const late = setTimeout(() => this.#listener?.destroy(), closeMs)
    await super.close()
    clearTimeout(late)
  }

  async #migrate() {
    const client = await this.pool.connect()
    // If the connection is lost, the query fails too. Without a listener, the process would end.
    client.on('error', () => {})
    try {
      await runMigrations(client, this.schema)
    } finally {
      client.release()
    }
  }
}

class PatientBackend extends PostgresQueueBackend {
  /** In seconds. After an error, BullMQ would otherwise wait for a notification for an hour. */
  override get maximumBlockTimeout(): number {
    return 5
  }

  /** BullMQ would not report a refused connection, and try again at once while PostgreSQL starts. */
  override async moveToActive(...args: Parameters<PostgresQueueBackend['moveToActive']>) {
    try {
      return await super.moveToActive(...args)
    } catch (thrown) {
      this.emit('error', thrown)
      await sleep(1000)
      throw thrown
    }
  }
}
