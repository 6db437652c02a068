import { afterEach, describe, expect, test } from 'vitest'
import { never } from '../speech.test-kit.ts'
import type { Piece } from './synthesis.ts'
import type { Threads, ThreadsOptions } from './threads.ts'
import { startThreads } from './threads.ts'

/** Does what its text says. The sample rate is the id of the thread. */
const program = `
  import { parentPort, threadId, workerData } from 'node:worker_threads'
  if (workerData === 'broken') throw new Error('it is broken')
  if (workerData) Atomics.add(workerData, 0, 1)
  parentPort.on('message', ({ words: [{ spoken }] }) => {
    if (spoken === 'crash') throw new Error('it fell over')
    if (spoken === 'exit') process.exit(0)
    if (spoken === 'hang') for (;;);
    if (spoken === 'fail') return parentPort.postMessage({ failed: 'no such sound' })
    const said = { pcm: new Int16Array(spoken.length), sampleRate: threadId, words: [] }
    setTimeout(() => parentPort.postMessage({ said }), spoken === 'slow' ? 100 : 0)
  })`

const running: Threads[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((threads) => threads.close()))
})

function threads(options: Partial<ThreadsOptions> = {}): Threads {
  const file = new URL(`data:text/javascript,${encodeURIComponent(program)}`)
  const made = startThreads({ file, workerData: undefined, count: 1, timeoutMs: 60_000, ...options })
  running.push(made)
  return made
}

function piece(spoken: string): Piece {
  return { words: [{ start: 0, end: spoken.length, spoken }], voice: 'slt', speed: 1 }
}

describe('threads', () => {
  test('speak pieces in order, and only as many as needed are started', async () => {
    const pool = threads({ count: 3 })
    const order: string[] = []
    const say = (text: string) => pool.run(piece(text), never).then(() => order.push(text))
    await say('a')
    await say('b')
    const [one, two] = await Promise.all([pool.run(piece('slow'), never), pool.run(piece('c'), never)])
    expect(one.sampleRate).not.toBe(two.sampleRate)
    const single = threads()
    await Promise.all(
      ['slow', 'd', 'e'].map((text) => single.run(piece(text), never).then(() => order.push(text))),
    )
    expect(order).toEqual(['a', 'b', 'slow', 'd', 'e'])
  })

  test('start on demand, or with ready()', async () => {
    const started = new Int32Array(new SharedArrayBuffer(4))
    const pool = threads({ workerData: started, count: 2 })
    pool.ready()
    pool.ready()
    await expect.poll(() => started[0]).toBe(1)
    await pool.run(piece('a'), never)
    expect(started[0]).toBe(1)

    const idle = new Int32Array(new SharedArrayBuffer(4))
    const lazy = threads({ workerData: idle })
    await pool.run(piece('slow'), never)
    expect(idle[0]).toBe(0)
    await lazy.run(piece('a'), never)
    expect(idle[0]).toBe(1)
    await lazy.close()
    lazy.ready()
    await pool.run(piece('slow'), never)
    expect(idle[0]).toBe(1)
  })

  test('do not exceed the maximum', async () => {
    const pool = threads({ count: 2 })
    const said = await Promise.all(Array.from({ length: 6 }, () => pool.run(piece('slow'), never)))
    expect(new Set(said.map(({ sampleRate }) => sampleRate)).size).toBe(2)
  })

  test.each([
    ['crash', { code: 'internal', message: 'flite crashed: it fell over' }],
    ['exit', { code: 'internal', message: 'flite exited unexpectedly' }],
    ['hang', { code: 'timeout', message: 'flite took longer than 3000 ms for "hang"' }],
  ])('on %s one piece fails, and another thread continues', async (text, error) => {
    // Long enough for another thread to start, even on a busy machine.
    const pool = threads({ timeoutMs: 3000 })
    const before = await pool.run(piece('a'), never)
    const results = await Promise.allSettled(['b', text, 'c', 'd'].map((one) => pool.run(piece(one), never)))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
    expect((results[1] as PromiseRejectedResult).reason).toMatchObject(error)
    const after = await pool.run(piece('e'), never)
    expect(after.sampleRate).not.toBe(before.sampleRate)
  })

  test('a piece that cannot be spoken fails, and the same thread continues', async () => {
    const pool = threads()
    const before = await pool.run(piece('a'), never)
    await expect(pool.run(piece('fail'), never)).rejects.toThrow(
      'flite cannot speak this text: no such sound',
    )
    expect((await pool.run(piece('b'), never)).sampleRate).toBe(before.sampleRate)
  })

  test('one that crashes on start fails every piece, and never hangs', async () => {
    const pool = threads({ workerData: 'broken' })
    const results = await Promise.allSettled(['a', 'b', 'c'].map((text) => pool.run(piece(text), never)))
    for (const result of results)
      expect(result).toMatchObject({ reason: { message: 'flite crashed: it is broken' } })
  })

  test('an abort rejects a waiting or running piece at once, and the rest continues', async () => {
    const pool = threads()
    const before = await pool.run(piece('a'), never)
    const stop = new AbortController()
    const aborted = { code: 'stream_interrupted' }
    const running = pool.run(piece('slow'), stop.signal)
    const waiting = pool.run(piece('crash'), stop.signal)
    const other = pool.run(piece('a'), never)
    stop.abort()
    await expect(running).rejects.toMatchObject(aborted)
    await expect(waiting).rejects.toMatchObject(aborted)
    // The same thread: it never got the piece that would have ended it.
    await expect(other).resolves.toEqual(before)
    await expect(pool.run(piece('crash'), stop.signal)).rejects.toMatchObject(aborted)
  })

  test('close rejects running and later pieces', async () => {
    const pool = threads()
    const closed = { message: 'flite has been closed' }
    const pieces = ['hang', 'a'].map((text) => pool.run(piece(text), never))
    const results = Promise.allSettled(pieces)
    await pool.close()
    for (const result of await results) expect(result).toMatchObject({ reason: closed })
    await expect(pool.run(piece('b'), never)).rejects.toMatchObject(closed)
    await pool.close()
  })
})
