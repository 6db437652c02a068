import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Model, ThreadStore } from 'millrace'
import { agent } from 'millrace'
import { millrace } from 'millrace/server'
import { sqliteStore } from 'millrace/sqlite'

export interface App {
  readonly url: string
  readonly store: ThreadStore
  close(): Promise<void>
}

/** A server as a user would set it up, over an SQLite file. Pages of `origin` may read it too. */
export async function openApp(model: Model, origin: string): Promise<App> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-page-'))
  const store = sqliteStore(join(folder, 'threads.db'))
  const app = millrace({ agents: { desk: agent({ model }) }, store, origins: [origin] })
  const { url } = await app.listen()
  return {
    url,
    store,
    async close() {
      await app.close({ graceMs: 0 })
      await store.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
