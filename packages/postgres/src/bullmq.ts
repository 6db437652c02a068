import { setTimeout as sleep } from 'node:timers/promises'
import type { Queue, WorkerOptions } from 'bullmq'
import { WaitingError } from 'bullmq'
import type { Dispatcher, DispatcherWork, WokenThread } from 'millrace'
import { MillraceError } from 'millrace'
import type { OptionTable } from 'millrace/internal'
import {
  checkOptions,
  invalidInput,
  isObject,
  messageOf,
  nameOf,
  someText,
  wholeNumber,
} from 'millrace/internal'
import type { PoolConfig } from 'pg'
import { postgresServer } from './bullmq/postgres.ts'
import type { QueueServer, WokenJob } from './bullmq/queue-server.ts'
import { addMs, answerMs } from './bullmq/queue-server.ts'
import type { RedisConfig } from './bullmq/redis.ts'
import { redisServer } from './bullmq/redis.ts'

/** Either `redis` or `postgres` is required. */
export interface BullmqOptions {
  /** An address such as `redis://localhost:6379`, or options of ioredis. */
  readonly redis?: string | RedisConfig | undefined
  /**
   * An address such as `postgres://localhost/app`, or options of a pool of `pg`. It has to lead to
   * PostgreSQL directly, since PgBouncer does not pass on notifications.
   */
  readonly postgres?: string | PoolConfig | undefined
  /**
   * Separates apps that share a server. Keys in Redis start with it; in PostgreSQL, the schema is
   * named `<prefix>_queue`. Default: `millrace`.
   */
  readonly prefix?: string | undefined
  /** After how many milliseconds without a sign of life a worker is considered dead. Default: 8000. */
  readonly lockMs?: number | undefined
}

export interface BullmqDispatcher extends Dispatcher {
  /** Rejects within seconds if the server is away. */
  wake(thread: WokenThread): Promise<void>
  /** The queues of these agents, for a dashboard. They are closed with the dispatcher. */
  queues(agents: readonly string[]): Queue[]
  /** Closes the connections. Close the apps that use it first. */
  close(): Promise<void>
}

const op = 'bullmq'

const table: OptionTable<BullmqOptions> = {
  redis: address('redis://', 'rediss://'),
  postgres: address('postgres://', 'postgresql://'),
  prefix: someText,
  lockMs: wholeNumber(1000),
}

/** How long a thread is left to the queue before any process with room takes it. */
const patienceMs = 5000
/** Errors with less time between them belong to one outage, of which one is reported. */
const quietMs = 15_000
/** A worker with room that has not asked for jobs for this long is stuck. */
const silenceMs = 30_000

/**
 * Passes threads to workers through BullMQ, with one queue per agent. A job is only a hint: the
 * store decides who works on a thread, and what the queue loses is found by scans of the store.
 * Connects on first use, and again for as long as it takes. Throws `invalid_input` on invalid
 * options.
 */
export function bullmq(options: BullmqOptions): BullmqDispatcher {
  const server = serverOf(options)
  const lockMs = options.lockMs ?? 8000
  const queues = new Map<string, Queue>()
  let closed = false

  function queueOf(agent: string): Queue {
    const name = queueName(agent)
    const known = queues.get(name)
    if (known) return known
    const queue = server.queue(name, {
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
      streams: { events: { maxLen: 1000 } },
    })
    // Also reported by the rejection of `wake()`.
    queue.on('error', () => {})
    queues.set(name, queue)
    return queue
  }

  async function add(agent: string, job: WokenJob, jobId: string, isBatch: boolean) {
    await server.connected()
    // Jobs without a priority come before all others, and adding one takes constant time.
    await queueOf(agent).add('run', job, { jobId, ...(isBatch && { priority: 1 }) })
  }

  return {
    patienceMs,
    async wake({ id, agent, head, priority, isHandedOver }) {
      if (closed) throw failure(server, 'the dispatcher is closed')
      const jobId = `${encodeURIComponent(id)}@${head}`
      try {
        // The job that led to this run still has its id.
        const unique = isHandedOver ? `${jobId}@${crypto.randomUUID()}` : jobId
        await inTime(add(agent, { thread: id, head }, unique, priority === 'batch'))
      } catch (thrown) {
        throw failure(server, messageOf(thrown), thrown)
      }
    },
    work(run, { agents, maxRuns, onError }): DispatcherWork {
      const report = oncePerOutage((thrown) => onError(failure(server, messageOf(thrown), thrown)))
      const running = new Set<Promise<void>>()
      const fetchedAt = new Map<string, number>()
      let isStopped = false
      const workers = agents.map((agent) =>
        server.worker(
          queueName(agent),
          async (job, token) => {
            // It was on its way when the worker was paused, and is for others.
            if (isStopped) {
              await job.moveToWait(token)
              throw new WaitingError()
            }
            const started = run(job.data.thread).finally(() => running.delete(started))
            running.add(started)
            await started
          },
          workerOptions(maxRuns, lockMs),
          {
            onError: (error) => !isLostLock(error) && report(error),
            onFetch: () => fetchedAt.set(agent, performance.now()),
          },
        ),
      )
      const timer = setInterval(checkFetches, silenceMs / 3)
      resume()

      function pause() {
        isStopped = true
        for (const worker of workers) void worker.pause(true)
      }

      function resume() {
        isStopped = false
        for (const agent of agents) fetchedAt.set(agent, performance.now())
        for (const worker of workers) void worker.resume()
      }

      /** BullMQ has had bugs that made workers stop silently. Scans of the store then do the work. */
      function checkFetches() {
        if (isStopped || running.size >= maxRuns) return
        for (const [agent, time] of fetchedAt)
          if (performance.now() - time > silenceMs)
            report(`the worker of agent '${agent}' no longer asks for jobs: restart this process`)
      }

      return {
        pause,
        resume,
        async close() {
          pause()
          clearInterval(timer)
          await Promise.allSettled(running)
          // The runs are done, so a worker that got stuck has nothing more to do either.
          const late = sleep(answerMs, undefined, { ref: false })
          await Promise.race([Promise.all(workers.map((worker) => worker.close())), late])
        },
      }
    },
    queues: (agents) => agents.map(queueOf),
    async close() {
      closed = true
      await Promise.all([...queues.values()].map((queue) => queue.close()))
      await server.close()
    },
  }
}

function workerOptions(maxRuns: number, lockMs: number): Omit<WorkerOptions, 'connection'> {
  return {
    concurrency: maxRuns,
    lockDuration: lockMs,
    stalledInterval: lockMs / 4,
    // BullMQ fails a job after one dead worker. How often a run may lose its worker is up to the app.
    maxStalledCount: 1_000_000,
    runRetryDelay: 1000,
  }
}

function serverOf(options: BullmqOptions): QueueServer {
  checkOptions(options, table, { op, what: 'the option' })
  const { redis, postgres, prefix = 'millrace' } = options
  if ((redis === undefined) === (postgres === undefined))
    throw invalidInput(op, `bullmq() needs either redis or postgres: bullmq({ redis: 'redis://localhost' })`)
  if (redis !== undefined) return redisServer(redis, prefix)
  if (!/^[A-Za-z_]\w{0,50}$/.test(prefix))
    throw invalidInput(
      op,
      `the prefix is a part of a schema's name in PostgreSQL: use up to 51 letters, digits and _, not '${prefix}'`,
    )
  return postgresServer(postgres ?? '', prefix)
}

function address(...protocols: readonly string[]) {
  return (value: unknown) => {
    if (isObject(value)) return undefined
    if (someText(value)) return `must be an address or an object of options, not ${nameOf(value)}`
    const isKnown = protocols.some((protocol) => String(value).startsWith(protocol))
    return !isKnown && `must start with ${protocols.join(' or ')}`
  }
}

/** Any text: BullMQ does not allow ':' in names. */
function queueName(agent: string): string {
  return encodeURIComponent(agent.toWellFormed())
}

/**
 * Another worker has the job by now, or the queue was emptied. The run continues, since it depends
 * on the lease of the thread alone.
 */
function isLostLock({ message }: Error): boolean {
  return /^(could not renew lock|Missing (lock|key)|Lock mismatch)/i.test(message)
}

function oncePerOutage(report: (thrown: unknown) => void) {
  let last = Number.NEGATIVE_INFINITY
  return (thrown: unknown) => {
    const before = last
    last = performance.now()
    if (last - before > quietMs) report(thrown)
  }
}

function inTime<Value>(promise: Promise<Value>): Promise<Value> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no answer in ${addMs} ms`)), addMs)
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

function failure({ name }: QueueServer, reason: string, cause?: unknown): MillraceError {
  const message = `the queue in ${name} does not work, so threads start later than they could: ${reason}`
  return new MillraceError({ op, code: 'store_error', message, cause })
}
