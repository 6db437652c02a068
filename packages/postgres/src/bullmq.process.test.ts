import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { PostgresQueueBackend, RedisQueueBackend } from 'bullmq'
import type { Dispatcher, MillraceError, WokenThread, WorkOptions } from 'millrace'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { postgresServer } from '../../../test/postgres-server.ts'
import { hasRedis, redisServer } from '../../../test/redis-server.ts'
import { isWhole } from '../../../test/size.ts'
import type { BullmqOptions } from './bullmq.ts'
import { bullmq } from './bullmq.ts'

interface Server {
  readonly port: number
  options(port?: number): BullmqOptions
  stop(): Promise<unknown>
  start(): Promise<void>
  /** Loses all jobs. */
  flush(): Promise<unknown>
  close(): Promise<unknown>
}

async function startRedis(): Promise<Server> {
  const server = await redisServer()
  return {
    ...server,
    options: (port = server.port) => ({ redis: `redis://127.0.0.1:${port}` }),
    stop: server.kill,
    flush: () => server.command('FLUSHALL'),
  }
}

async function startPostgres(): Promise<Server> {
  const server = await postgresServer()
  const address = await server.database('app')
  return {
    ...server,
    options: (port = server.port) => ({ postgres: address.replace(`:${server.port}/`, `:${port}/`) }),
    stop: () => server.stop('immediate'),
    async flush() {
      const client = new pg.Client(address)
      await client.connect()
      await client.query('DELETE FROM millrace_queue.job')
      await client.end()
    },
  }
}

describe.each([
  { name: 'Redis', isThere: hasRedis, startServer: startRedis },
  { name: 'PostgreSQL', isThere: true, startServer: startPostgres },
])('bullmq on $name', ({ isThere, startServer }) => {
  describe.skipIf(!isThere)('installed', () => {
    let server: Server
    let agents = 0
    let agent = ''

    beforeAll(async () => {
      server = await startServer()
    })
    afterAll(() => server?.close())

    /** One per process, with an agent that no other test has. */
    function open(options: BullmqOptions = server.options()) {
      agent = `agent ${++agents}`
      return reopen(options)
    }

    function reopen(options: BullmqOptions = server.options()) {
      const dispatcher = bullmq(options)
      onTestFinished(() => dispatcher.close())
      return dispatcher
    }

    const thread = (id: string, more: Partial<WokenThread> = {}): WokenThread => ({
      id,
      agent,
      head: 1,
      priority: 'interactive',
      ...more,
    })

    /** A worker that notes what it runs, until the test ends. */
    function startWork(
      dispatcher: Dispatcher,
      run: (threadId: string) => Promise<void> = async () => {},
      more: Partial<WorkOptions> = {},
    ) {
      const ran: string[] = []
      const errors: MillraceError[] = []
      const work = dispatcher.work(
        (threadId) => {
          ran.push(threadId)
          return run(threadId)
        },
        { agents: [agent], maxRuns: 4, onError: (error) => errors.push(error), ...more },
      )
      onTestFinished(() => work.close())
      return { ...work, ran, errors }
    }

    /** Runs that last until the test says so. */
    function held() {
      const { promise, resolve } = Promise.withResolvers<void>()
      onTestFinished(() => resolve())
      return { run: () => promise, release: () => resolve() }
    }

    test('runs a woken thread in another process', async () => {
      const web = open()
      const { ran } = startWork(reopen())
      await web.wake(thread('t'))
      await expect.poll(() => ran).toEqual(['t'])
    })

    test('runs threads that were woken before there was a worker, and each once', async () => {
      const web = open()
      await web.wake(thread('t'))
      await reopen().wake(thread('t'))
      await web.wake(thread('t', { head: 2 }))
      await web.wake(thread('last'))
      const { ran } = startWork(reopen())
      await expect.poll(() => ran).toContain('last')
      expect(ran).toEqual(['t', 't', 'last'])
    })

    test('a job is active for as long as its run lasts, and then gone', async () => {
      const web = open()
      const runs = held()
      const { ran } = startWork(reopen(), runs.run)
      await web.wake(thread('t', { head: 7 }))
      await expect.poll(() => ran).toEqual(['t'])
      const [queue] = web.queues([agent])
      expect(await queue?.getActive()).toEqual([
        expect.objectContaining({ id: 't@7', data: { thread: 't', head: 7 } }),
      ])
      runs.release()
      await expect
        .poll(() => queue?.getJobCounts().then(Object.values))
        .toEqual(expect.not.arrayContaining([1]))
    })

    test('a thread that is handed over goes to another worker while its job is still active', async () => {
      const first = open()
      const runs = held()
      const closing = startWork(first, runs.run)
      await first.wake(thread('t'))
      await expect.poll(() => closing.ran).toEqual(['t'])
      const closed = closing.close()
      const { ran } = startWork(reopen())
      await first.wake(thread('t', { isHandedOver: true }))
      await expect.poll(() => ran).toEqual(['t'])
      runs.release()
      await closed
    })

    test('two workers share the work, as far as each has room', async () => {
      const web = open()
      const runs = held()
      const one = startWork(reopen(), runs.run, { maxRuns: 1 })
      const other = startWork(reopen(), runs.run, { maxRuns: 2 })
      for (const id of ['a', 'b', 'c', 'd']) await web.wake(thread(id))
      await expect.poll(() => [one.ran.length, other.ran.length]).toEqual([1, 2])
      runs.release()
      await expect.poll(() => [...one.ran, ...other.ran].sort()).toEqual(['a', 'b', 'c', 'd'])
    })

    test('the job of a killed worker runs in another', async () => {
      const web = open()
      const options = { ...server.options(), lockMs: 1000 }
      const program = fileURLToPath(new URL('./bullmq/endless-worker.test-kit.ts', import.meta.url))
      const child = spawn(process.execPath, [program, JSON.stringify({ agent, options })], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      onTestFinished(() => void child.kill('SIGKILL'))
      const started = once(child.stdout, 'data')
      await web.wake(thread('t'))
      expect(String(await started)).toBe('t\n')
      const { ran } = startWork(reopen(options))
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
      await expect.poll(() => ran).toEqual(['t'])
    })

    test('a worker that is paused leaves jobs to others until it is resumed', async () => {
      const web = open()
      const paused = startWork(reopen())
      await web.wake(thread('a'))
      await expect.poll(() => paused.ran).toEqual(['a'])
      paused.pause()
      paused.resume()
      paused.pause()
      await web.wake(thread('b'))
      const other = startWork(reopen())
      await expect.poll(() => other.ran).toEqual(['b'])
      await other.close()
      paused.resume()
      await web.wake(thread('c'))
      await expect.poll(() => paused.ran).toEqual(['a', 'c'])
    })

    test('interactive threads run before batches', async () => {
      const web = open()
      await web.wake(thread('batch 1', { priority: 'batch' }))
      await web.wake(thread('batch 2', { priority: 'batch' }))
      await web.wake(thread('user 1'))
      await web.wake(thread('user 2'))
      const { ran } = startWork(reopen(), async () => {}, { maxRuns: 1 })
      await expect.poll(() => ran).toEqual(['user 1', 'user 2', 'batch 1', 'batch 2'])
    })

    test('close waits for runs, and takes no more jobs', async () => {
      const web = open()
      const runs = held()
      const work = startWork(reopen(), runs.run)
      await web.wake(thread('a'))
      await expect.poll(() => work.ran).toEqual(['a'])
      let isClosed = false
      const closed = work.close().then(() => {
        isClosed = true
      })
      await web.wake(thread('b'))
      const other = startWork(reopen())
      await expect.poll(() => other.ran).toEqual(['b'])
      expect(isClosed).toBe(false)
      runs.release()
      await closed
      expect(work.ran).toEqual(['a'])
    })

    test.each([
      ['with a colon', 'support:eu', 'a:b'],
      ['of digits', '12', '42'],
      ['that is a zero', '0', '0'],
      ['in any script', 'Ünï 客服 🦊', 'faden-ß'],
      ['with a lone surrogate', 'a\ud800', 't'],
      ['with quotes and braces', `{"a'}; DROP`, "it's {x}"],
      ['as long as it may be', 'a'.repeat(300), 't'.repeat(128)],
    ])('passes an agent and a thread %s', async (_, name, id) => {
      const web = open()
      const { ran } = startWork(reopen(), undefined, { agents: [agent, name] })
      await web.wake(thread(id, { agent: name }))
      await expect.poll(() => ran).toEqual([id])
    })

    test('jobs that the server loses are missing, and later ones run', async () => {
      const web = open()
      const runs = held()
      const { ran, errors } = startWork(reopen({ ...server.options(), lockMs: 1000 }), runs.run)
      await web.wake(thread('running'))
      await expect.poll(() => ran).toEqual(['running'])
      const waiting = reopen()
      await waiting.wake(thread('lost', { agent: 'no worker has this' }))
      await server.flush()
      runs.release()
      const other = startWork(waiting, undefined, { agents: [agent, 'no worker has this'] })
      await web.wake(thread('later', { agent: 'no worker has this' }))
      await expect.poll(() => other.ran).toEqual(['later'])
      await web.wake(thread('running'))
      await expect.poll(() => [...ran, ...other.ran].sort()).toEqual(['later', 'running', 'running'])
      expect(errors).toEqual([])
    })

    test('wake rejects while the server is away; everything continues when it is back', async () => {
      const web = open()
      const { ran, errors } = startWork(reopen())
      await web.wake(thread('before'))
      await expect.poll(() => ran).toEqual(['before'])
      await server.stop()
      const away = { code: 'store_error', message: expect.stringMatching(/^the queue in \w+ does not work/) }
      await expect(web.wake(thread('away'))).rejects.toMatchObject(away)
      await expect(web.wake(thread('away'))).rejects.toMatchObject(away)
      await expect.poll(() => errors).toEqual([expect.objectContaining(away)])
      await server.start()
      const wake = () => web.wake(thread('after')).then(() => 'woken', String)
      await expect.poll(wake).toBe('woken')
      await expect.poll(() => ran).toContain('after')
      expect(errors).toHaveLength(1)
      expect(ran).not.toContain('away')
    })

    test.runIf(isWhole)('workers start and close while the server is away', async () => {
      await server.stop()
      const web = open()
      await expect(web.wake(thread('away'))).rejects.toMatchObject({ code: 'store_error' })
      const closed = startWork(reopen())
      await expect.poll(() => closed.errors).toHaveLength(1)
      await closed.close()
      const { ran } = startWork(reopen())
      await server.start()
      await expect.poll(() => web.wake(thread('t')).then(() => 'woken', String)).toBe('woken')
      await expect.poll(() => ran).toContain('t')
      const stuck = startWork(reopen())
      await web.wake(thread('t2'))
      await expect.poll(() => [...ran, ...stuck.ran]).toContain('t2')
      await server.stop()
      onTestFinished(server.start)
      await stuck.close()
    })

    // These two take as long as it takes to notice.
    test.runIf(isWhole)('a worker that no longer asks for jobs is reported, and can be closed', async () => {
      for (const { prototype } of [RedisQueueBackend, PostgresQueueBackend])
        vi.spyOn(prototype, 'waitForJob').mockReturnValue(new Promise(() => {}))
      onTestFinished(() => void vi.restoreAllMocks())
      const { errors, close } = startWork(open())
      await expect
        .poll(() => errors, { timeout: 100_000 })
        .toEqual([
          expect.objectContaining({ message: expect.stringContaining(`'${agent}' no longer asks for jobs`) }),
        ])
      await close()
    })

    test.runIf(isWhole)('a worker whose connections are dead connects again', async () => {
      const web = open()
      const proxy = await startProxy(server.port)
      const { ran } = startWork(reopen(server.options(proxy.port)))
      await web.wake(thread('before'))
      await expect.poll(() => ran).toEqual(['before'])
      proxy.freeze()
      await web.wake(thread('after'))
      await expect.poll(() => ran).toContain('after')
    })
  })
})

/** Passes connections on. `freeze()` drops everything on those that are open, without closing them. */
async function startProxy(port: number) {
  const sockets = new Set<Socket>()
  const proxy = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    near.pipe(far)
    far.pipe(near)
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => [near, far].map((one) => one.destroy()))
    }
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  })
  const address = proxy.address()
  return {
    port: address && typeof address === 'object' ? address.port : 0,
    freeze() {
      for (const socket of sockets) {
        socket.unpipe()
        socket.removeAllListeners('data')
        socket.on('data', () => {})
      }
    },
  }
}
