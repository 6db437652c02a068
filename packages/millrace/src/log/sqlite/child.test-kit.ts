import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { sqliteStore } from '../sqlite.ts'
import type { AppendResult, Lease, ThreadStore } from '../store.ts'

// Another process that has the file open. It gets its instructions as arguments and lines on stdin,
// and reports what it did as lines of JSON on stdout, each written before it continues.

const [scenario = '', path = '', ...args] = process.argv.slice(2)

export interface Report {
  readonly [what: string]: unknown
}

function report(what: Report) {
  process.stdout.write(`${JSON.stringify(what)}\n`)
}

async function claimSoon(store: ThreadStore, id: string, owner: string): Promise<Lease> {
  for (;;) {
    const claim = await store.claim(id, owner, 300)
    if (claim) return claim.lease
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** The number of the last entry, or why nothing was written. */
function lastNumber(result: AppendResult | undefined) {
  return typeof result === 'string' ? result : result?.at(-1)?.seq
}

const scenarios: Record<string, () => Promise<void>> = {
  /** Claims threads and writes to all of them, one commit after the other, until it is killed. */
  async write() {
    const [owner = '', ...ids] = args
    const store = sqliteStore(path)
    const leases = await Promise.all(ids.map((id) => claimSoon(store, id, owner)))
    for (let commit = 0; ; commit++) {
      const events = [`${owner} ${commit}`, ' '].map((text) => ({ type: 'text', text }) as const)
      const results = await store.append(leases.map((lease) => ({ lease, number: commit + 1, events })))
      if (commit % 10 === 0) await store.packDeltas(ids[commit % ids.length] as string, 1e9)
      report({ commit, heads: results.map((result) => lastNumber(result)) })
    }
  },

  /** Claims a thread and writes each line from stdin to it. */
  async echo() {
    const [owner = '', id = ''] = args
    const store = sqliteStore(path)
    const lease = await claimSoon(store, id, owner)
    report({ lease })
    let number = 0
    for await (const text of createInterface(process.stdin)) {
      const [result] = await store.append([{ lease, number: ++number, events: [{ type: 'text', text }] }])
      report({ wrote: lastNumber(result) })
    }
    await store.close()
  },

  /** Sends signals to a thread, each with its own key. */
  async signal() {
    const [id = '', count = ''] = args
    const store = sqliteStore(path)
    for (let index = 0; index < Number(count); index++) {
      const { entry } = await store.signal(id, `${process.pid}-${index}`, {
        type: 'stop',
        reason: `${index}`,
      })
      report({ seq: entry.seq })
    }
    await store.close()
  },

  /** Deletes a thread, and stays alive to remove its rows. */
  async delete() {
    const store = sqliteStore(path)
    report({ deleted: await store.delete(args[0] ?? '') })
    await new Promise((resolve) => setTimeout(resolve, 600_000))
  },

  /** Starts a write and never finishes it. */
  async hold() {
    const database = new DatabaseSync(path)
    database.exec('BEGIN IMMEDIATE')
    database.exec("UPDATE threads SET agent = 'half written'")
    report({ holding: true })
    await new Promise((resolve) => setTimeout(resolve, 600_000))
  },

  /** Reports how many threads write. */
  async threads() {
    const count = () =>
      readdirSync('/proc/self/task').filter(
        (id) => readFileSync(`/proc/self/task/${id}/comm`, 'utf8').trim() === 'millrace-sqlite',
      ).length
    const stores = [path, args[0] ?? ''].map((path) => sqliteStore(path))
    report({ opened: count() })
    for (const store of stores) await store.list({ limit: 1 })
    report({ read: count() })
    for (const store of stores) await store.create({ id: 't', agent: 'a' })
    report({ written: count() })
  },

  /** Watches, with nothing else to do. */
  async watch() {
    sqliteStore(path).watch({})
    report({ watching: true })
  },

  /** Only opens the file, and reports the error if that fails. */
  async open() {
    try {
      const store = sqliteStore(path)
      report({ created: await store.create({ id: `by ${process.pid}`, agent: 'a' }) })
      await store.close()
    } catch (error) {
      report({ error: JSON.parse(JSON.stringify(error)) })
    }
  },

  /** Writes until the disk is full, then frees space and continues. */
  async fill() {
    const [ballast = ''] = args
    const store = sqliteStore(path)
    await store.create({ id: 't', agent: 'a' })
    let written = 0
    const write = async () => {
      const { entry } = await store.signal('t', crypto.randomUUID(), {
        type: 'stop',
        reason: 'x'.repeat(20_000),
      })
      written = entry.seq
    }
    // In pages, since a page holds a limited amount of text.
    const countAll = async () => {
      let count = 0
      for (let page = 1; page > 0; count += page)
        page = (await store.read('t', { after: count, limit: 1000 })).length
      return count
    }
    try {
      while (written < 1000) await write()
    } catch (error) {
      report({ written, error: JSON.parse(JSON.stringify(error)) })
    }
    report({ read: await countAll() })
    rmSync(ballast)
    await write()
    report({ read: await countAll(), written })
    await store.close()
    report({ intact: new DatabaseSync(path).prepare('PRAGMA integrity_check').get() })
  },
}

await scenarios[scenario]?.()
