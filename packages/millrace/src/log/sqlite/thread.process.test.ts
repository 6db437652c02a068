import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { rolldown } from 'rolldown'
import { describe, expect, it, vi } from 'vitest'
import type { ThreadEvent } from '../../protocol/index.ts'
import { sqliteStore } from '../sqlite.ts'
import { expectIntact, other, temporaryFolder, wholeLog } from './sqlite.test-kit.ts'

const folder = temporaryFolder()
const event: ThreadEvent = { type: 'stop', reason: '' }

const posted = () => vi.spyOn(Worker.prototype, 'postMessage')

/** The thread that has this file open. It may have others open too, of other tests. */
const threadOf = (path: string, { mock }: ReturnType<typeof posted>) =>
  mock.contexts[mock.calls.findLastIndex(([message]) => message.options?.path === path)]

describe('the thread that writes', () => {
  it.runIf(process.platform === 'linux')(
    'starts with the first write, serves all stores, and keeps no process alive',
    async () => {
      const process = other(['threads', join(folder, 'one.db'), join(folder, 'other.db')])
      expect(await process.next()).toEqual({ opened: 0 })
      expect(await process.next()).toEqual({ read: 0 })
      expect(await process.next()).toEqual({ written: 1 })
      await process.ended()
    },
  )

  it('is started again if it ends: what was in flight fails, and nothing is written twice', async () => {
    const post = posted()
    const path = join(folder, 'ended.db')
    const [store, watching] = [sqliteStore(path), sqliteStore(path)]
    await store.create({ id: 't', agent: 'a' })
    const changed = vi.fn()
    const missed = vi.fn()
    watching.watch({ changed, missed }).follow('t')
    await watching.create({ id: 'u', agent: 'a' })
    const thread = threadOf(path, post) as Worker
    const lost = store.signal('t', 'a key', event).catch((error: unknown) => error)
    await thread.terminate()
    expect(await lost).toMatchObject({
      code: 'store_error',
      message: expect.stringMatching(/ended\.db' ended .* whether the last writes happened is not known/),
    })
    expect((await store.signal('t', 'a key', event)).entry.seq).toBe(1)
    await vi.waitFor(() => expect(missed).toHaveBeenCalled())
    changed.mockClear()
    await store.signal('t', 'another key', event)
    await vi.waitFor(() => expect(changed).toHaveBeenCalledWith('t', 2))
    expect(await wholeLog(store, 't')).toHaveLength(2)
    await Promise.all([store.close(), watching.close()])
    expectIntact(path)
    post.mockRestore()
  })

  it('is replaced by the thread of the caller in an app that was bundled without it', async () => {
    const input = fileURLToPath(new URL('../sqlite.ts', import.meta.url))
    const bundle = await rolldown({ input, platform: 'node' })
    const { output } = await bundle.generate({ codeSplitting: false })
    await bundle.close()
    const file = join(folder, 'bundle.mjs')
    writeFileSync(file, output[0].code)
    const bundled: { sqliteStore: typeof sqliteStore } = await import(file)
    await expectNoWorker((path) => bundled.sqliteStore(path), join(folder, 'bundled.db'))
  })

  it('is not started if the caller does not want it', async () => {
    await expectNoWorker((path) => sqliteStore(path, { worker: false }), join(folder, 'without.db'))
  })

  async function expectNoWorker(open: typeof sqliteStore, path: string) {
    const post = posted()
    const store = open(path)
    await store.create({ id: 't', agent: 'a' })
    expect((await store.signal('t', 'a key', event)).entry.seq).toBe(1)
    expect(threadOf(path, post)).toBeUndefined()
    post.mockRestore()
    await store.close()
    expectIntact(path)
  }
})
