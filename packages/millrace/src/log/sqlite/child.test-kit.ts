import { rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { sqliteStore } from '../sqlite.ts'
import type { Lease, ThreadStore } from '../store.ts'

// Another process that has the file open. It is told what to do by its arguments and lines on stdin, and says what it did in lines
// of JSON on stdout, which are written before it goes on.

const [scenario = '', path = '', ...args] = process.argv.slice(2)

export interface Said {
  readonly [what: string]: unknown
}

function say(what: Said) {
  process.stdout.write(`${JSON.stringify(what)}\n`)
}

async function claimSoon(store: ThreadStore, id: string, owner: string): Promise<Lease> {
  for (;;) {
    const claim = await store.claim(id, owner, 300)
    if (claim) return claim.lease
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const scenarios: Record<string, () => Promise<void>> = {
  /** Takes over threads and writes to all of them, one commit after the other, until it is killed. */
  async write() {
    const [owner = '', ...ids] = args
    const store = sqliteStore(path)
    const leases = await Promise.all(ids.map((id) => claimSoon(store, id, owner)))
    for (let commit = 0; ; commit++) {
      const events = [`${owner} ${commit}`, ' '].map((text) => ({ type: 'text', text }) as const)
      const results = await store.append(leases.map((lease) => ({ lease, events })))
      if (commit % 10 === 0) await store.compact(ids[commit % ids.length] as string, 1e9)
      say({ commit, heads: results.map((result) => (result === 'fenced' ? result : result.at(-1)?.seq)) })
    }
  },

  /** Takes one thread over and writes to it when it is told to. */
  async obey() {
    const [owner = '', id = ''] = args
    const store = sqliteStore(path)
    const lease = await claimSoon(store, id, owner)
    say({ lease })
    for await (const text of createInterface(process.stdin)) {
      const [result] = await store.append([{ lease, events: [{ type: 'text', text }] }])
      say({ wrote: result === 'fenced' ? result : result?.at(-1)?.seq })
    }
    await store.close()
  },

  /** Says things to a thread, each with a key of its own. */
  async signal() {
    const [id = '', count = ''] = args
    const store = sqliteStore(path)
    for (let index = 0; index < Number(count); index++) {
      const { entry } = await store.signal(id, `${process.pid}-${index}`, {
        type: 'stop',
        reason: `${index}`,
      })
      say({ seq: entry.seq })
    }
    await store.close()
  },

  /** Deletes a thread, and has time to remove its rows. */
  async delete() {
    const store = sqliteStore(path)
    say({ deleted: await store.delete(args[0] ?? '') })
    await new Promise((resolve) => setTimeout(resolve, 600_000))
  },

  /** Has begun to write, and never ends. */
  async hold() {
    const database = new DatabaseSync(path)
    database.exec('BEGIN IMMEDIATE')
    database.exec("UPDATE threads SET agent = 'half written'")
    say({ holding: true })
    await new Promise((resolve) => setTimeout(resolve, 600_000))
  },

  /** Watches, and has nothing else to do. */
  async watch() {
    sqliteStore(path).watch(() => {})
    say({ watching: true })
  },

  /** Only opens it, and says what is wrong if it cannot. */
  async open() {
    try {
      const store = sqliteStore(path)
      say({ created: await store.create({ id: `by ${process.pid}`, agent: 'a' }) })
      await store.close()
    } catch (error) {
      say({ error: JSON.parse(JSON.stringify(error)) })
    }
  },

  /** Writes until the disk is full, then makes room and goes on. */
  async fill() {
    const [ballast = ''] = args
    const store = sqliteStore(path)
    await store.create({ id: 't', agent: 'a' })
    let written = 0
    const write = async () => {
      const { entry } = await store.signal('t', undefined, { type: 'stop', reason: 'x'.repeat(20_000) })
      written = entry.seq
    }
    // In pages, since one has only so much text.
    const countAll = async () => {
      let count = 0
      for (let page = 1; page > 0; count += page)
        page = (await store.read('t', { after: count, limit: 1000 })).length
      return count
    }
    try {
      while (written < 1000) await write()
    } catch (error) {
      say({ written, error: JSON.parse(JSON.stringify(error)) })
    }
    say({ read: await countAll() })
    rmSync(ballast)
    await write()
    say({ read: await countAll(), written })
    await store.close()
    say({ intact: new DatabaseSync(path).prepare('PRAGMA integrity_check').get() })
  },
}

await scenarios[scenario]?.()
