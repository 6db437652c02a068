import { stat } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { agent, millrace } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { wordDeltas } from '../../server/scenario.ts'
import { openStore, type StorePlace } from '../open-store.ts'
import { withPlace } from './append.ts'
import type { SizeFigures, StoreName } from './figures.ts'
import type { Context } from './part.ts'
import { query } from './server.ts'

export interface StoredSize {
  readonly threads: number
  readonly messagesEach: number
  /** Words of an answer, and the time between them. */
  readonly words: number
  readonly everyMs: number
}

/** How much space messages take. */
export function measureSize(store: StoreName, size: StoredSize, context: Context): Promise<SizeFigures> {
  context.onStep(`size with ${store}`)
  const { threads, messagesEach, words, everyMs } = size
  const messages = threads * messagesEach
  const perThousand = (value: number) => (value * 1000) / messages
  return withPlace(store, context, async (place) => {
    const opened = openStore(place)
    const text = wordDeltas(words).join('')
    const model = scriptedModel(() => text, { paceMs: everyMs, deltaChars: Math.ceil(text.length / words) })
    const app = millrace({ agents: { desk: agent({ model }) }, store: opened })
    try {
      // The tables exist after the first call.
      await opened.heads([])
      const empty = await bytesIn(place)
      const ids = Array.from({ length: threads }, (_, index) => `t${index}`)
      await Promise.all(
        ids.map(async (id) => {
          const thread = app.thread(id, { agent: 'desk', user: id })
          for (let count = 0; count < messagesEach; count++) {
            const seq = await thread.send(`Where is my order ${count}? It should have come last week.`)
            for await (const _ of thread.follow({ after: seq, until: seq })) context.signal.throwIfAborted()
          }
        }),
      )
      const heads = await opened.heads(ids)
      const written = [...heads.values()].reduce((sum, head) => sum + head, 0)
      const bytes = { written: (await bytesIn(place)) - empty, packed: 0, rewritten: 0 }
      for (const [id, head] of heads) await opened.packDeltas(id, head)
      let packed = 0
      for (const id of ids) packed += (await opened.read(id, { after: 0, limit: 10_000 })).length
      await vacuum(place, 'VACUUM')
      bytes.packed = (await bytesIn(place)) - empty
      await vacuum(place, 'VACUUM FULL')
      bytes.rewritten = (await bytesIn(place)) - empty
      return {
        store,
        messages,
        words,
        entries: { written: perThousand(written), packed: perThousand(packed) },
        bytes: {
          written: perThousand(bytes.written),
          packed: perThousand(bytes.packed),
          rewritten: perThousand(bytes.rewritten),
        },
      }
    } finally {
      await app.close()
      await opened.close()
    }
  })
}

/** Tables and indexes, without write-ahead logs. */
async function bytesIn(place: StorePlace): Promise<number> {
  if (place.kind === 'sqlite') {
    sqlite(place.file, 'PRAGMA wal_checkpoint(TRUNCATE)')
    return (await stat(place.file)).size
  }
  const [row] = await query<{ bytes: string }>(
    place.url,
    `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) AS bytes
    FROM pg_class AS c JOIN pg_namespace AS s ON s.oid = c.relnamespace WHERE s.nspname = 'millrace' AND c.relkind = 'r'`,
  )
  return Number(row?.bytes)
}

/** SQLite knows only the complete one. */
async function vacuum(place: StorePlace, text: 'VACUUM' | 'VACUUM FULL') {
  if (place.kind !== 'sqlite') await query(place.url, text)
  else if (text === 'VACUUM FULL') sqlite(place.file, 'VACUUM')
}

function sqlite(file: string, text: string) {
  const database = new DatabaseSync(file)
  database.exec('PRAGMA busy_timeout = 5000')
  database.exec(text)
  database.close()
}
