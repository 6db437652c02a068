import { once } from 'node:events'
import { Queue, Worker } from 'bullmq'
import type { RedisOptions } from 'ioredis'
import { Redis } from 'ioredis'
import type { QueueServer } from './queue-server.ts'
import { addMs, answerMs, watchFetches } from './queue-server.ts'

/** Longest time between two attempts to connect. */
const maxRetryMs = 1000

/** Options of ioredis. */
export type RedisConfig = Omit<RedisOptions, 'replyMapping'>

export function redisServer(redis: string | RedisConfig, prefix: string): QueueServer {
  let adder: Redis | undefined
  let connecting: Promise<unknown> | undefined

  function connect(options: RedisConfig): Redis {
    const client = typeof redis === 'string' ? new Redis(redis, options) : new Redis({ ...redis, ...options })
    // BullMQ and `connected()` report them. Without a listener, ioredis prints them.
    client.on('error', () => {})
    return client
  }

  /** Fails at once while Redis is away, so that nothing is buffered. */
  function adding(): Redis {
    adder ??= connect({
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      socketTimeout: addMs,
      retryStrategy: (times) => Math.min(times * 50, maxRetryMs),
    })
    return adder
  }

  return {
    name: 'Redis',
    queue: (name, options) =>
      new Queue(name, {
        ...options,
        prefix,
        connection: adding(),
        skipWaitingForReady: true,
        skipVersionCheck: true,
      }),
    async connected() {
      const client = adding()
      if (client.status === 'ready') return
      connecting ??= once(client, 'ready', { signal: AbortSignal.timeout(addMs) }).finally(() => {
        connecting = undefined
      })
      await connecting
    },
    worker(name, processor, options, { onError, onFetch }) {
      let isClosing = false
      // BullMQ blocks on a duplicate of it. Both wait for Redis, however long it is away, but not
      // when the worker closes.
      const connection = connect({
        maxRetriesPerRequest: null,
        socketTimeout: answerMs,
        retryStrategy: (times) => (isClosing ? null : Math.min(times * 50, maxRetryMs)),
      })
      const worker = new Worker(name, processor, { ...options, prefix, connection }).on('error', onError)
      watchFetches(worker.getBackend(), onFetch)
      return {
        pause: (doNotWait) => worker.pause(doNotWait),
        resume: () => worker.resume(),
        async close() {
          isClosing = true
          const { blockingClient } = worker.getBackend()
          const blocking = await Promise.race([blockingClient, undefined])
          const isAway = connection.status !== 'ready' || blocking?.status !== 'ready'
          // BullMQ would wait for the end of a connection that is only planned.
          await worker.close(isAway)
          connection.disconnect()
        },
      }
    },
    async close() {
      adder?.disconnect()
    },
  }
}
