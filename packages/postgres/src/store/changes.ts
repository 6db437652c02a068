import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { fromColumn, toColumn, watchers } from 'millrace/internal'
import type { Watch, Watcher } from 'millrace/store'
import pg from 'pg'
import type { Database } from './database.ts'
import { connectionOptions } from './database.ts'
import type { Sql } from './sql.ts'

/** Reports changes to other processes, and theirs to the watchers of this one. */
export interface Changes {
  /** The log of a thread has grown. */
  grown(threadId: string, head: number): void
  /** A thread was created or deleted. */
  other(threadId: string): void
  /** A thread has become runnable. */
  runnable(): void
  watch(watcher: Watcher): Watch
  /** Resolves when everything was reported. */
  close(): Promise<void>
}

/** Changes are collected for this long: notifications are cheap only if they are few. */
const collectMs = 5
/** PostgreSQL allows payloads of less than 8,000 bytes. */
const maxPayload = 7900
/** How often to check that notifications arrive, and how long one may take. */
const checkMs = 10_000
const arrivalMs = 5000
const reconnectMs = [100, 250, 500, 1000, 2000]
/** Intervals of queries if no notifications arrive. */
const pollMs = 250
/** How long to poll before it tries to listen again. */
const listenAgainMs = 600_000

interface ChangesOptions {
  readonly database: Database
  readonly sql: Sql
  /** The address to listen at: not that of a proxy that shares connections. */
  readonly listenUrl: string
}

interface Followed {
  /** How many watches follow it. */
  watches: number
  /** The last head that a poll has found. */
  head: number | undefined
}

/**
 * A notification has the sender's name, then for each thread eight characters that stand for its id,
 * and its head; `!` if a thread has become runnable.
 */
export function changeFeed({ database, sql, listenUrl }: ChangesOptions): Changes {
  const listeners = watchers()
  const channel = `millrace_${shortHash(database.schema)}`
  const sender = randomBytes(3).toString('base64url')
  /** Followed threads by their hash. */
  const followed = new Map<string, Map<string, Followed>>()
  const pending = new Map<string, string>()
  let isRunnable = false
  let collecting: ReturnType<typeof setTimeout> | undefined
  let sending: Promise<void> = Promise.resolve()
  let connection: Promise<void> | undefined
  let hasWarned = false
  const closing = new AbortController()

  function follow(threadId: string) {
    const hash = shortHash(threadId)
    const threads = followed.get(hash) ?? new Map<string, Followed>()
    const thread = threads.get(threadId) ?? { watches: 0, head: undefined }
    thread.watches++
    followed.set(hash, threads.set(threadId, thread))
  }

  function unfollow(threadId: string) {
    const hash = shortHash(threadId)
    const threads = followed.get(hash)
    const thread = threads?.get(threadId)
    if (!thread || --thread.watches > 0) return
    threads?.delete(threadId)
    if (threads?.size === 0) followed.delete(hash)
  }

  function send(hash: string, head: string) {
    if (hash !== '') pending.set(hash, pending.get(hash) === '' ? '' : head)
    collecting ??= setTimeout(() => {
      collecting = undefined
      sending = sending.then(flush)
    }, collectMs)
  }

  async function flush() {
    const items = [...(isRunnable ? ['!'] : []), ...[...pending].map(([hash, head]) => hash + head)]
    pending.clear()
    isRunnable = false
    const payloads: string[] = []
    let payload = sender
    for (const item of items) {
      if (payload.length + 1 + item.length > maxPayload) {
        payloads.push(payload)
        payload = sender
      }
      payload += ` ${item}`
    }
    if (items.length > 0) await notify([...payloads, payload])
  }

  /**
   * Resolves with false if that fails. What is lost then is found by the slow polls of those who wait
   * for it.
   */
  function notify(payloads: readonly string[]): Promise<boolean> {
    const text = 'SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload'
    return database.query('store.watch', text, [channel, payloads]).then(
      () => true,
      () => false,
    )
  }

  function received(payload: string) {
    const [from, ...items] = payload.split(' ')
    if (from === sender) return
    for (const item of items) {
      if (item === '!') {
        listeners.runnable()
        continue
      }
      const head = item.length > 8 ? Number.parseInt(item.slice(8), 36) : undefined
      for (const id of followed.get(item.slice(0, 8))?.keys() ?? []) listeners.changed(id, head)
    }
  }

  /** Listens until the connection is lost. Resolves with false if no notifications arrive. */
  async function listen(): Promise<boolean> {
    const client = new pg.Client({
      ...connectionOptions(listenUrl),
      connectionTimeoutMillis: 5000,
      query_timeout: 10_000,
    })
    const lost = new Promise<void>((resolve) => {
      client.once('end', resolve)
      client.on('error', () => resolve())
      closing.signal.addEventListener('abort', () => resolve(), { once: true })
    })
    let arrived: (() => void) | undefined
    client.on('notification', ({ payload = '' }) => {
      if (payload === `${sender} ?`) arrived?.()
      else received(payload)
    })
    let heard = false
    try {
      await client.connect()
      await client.query(`LISTEN "${channel}"`)
      listeners.missed()
      for (;;) {
        const arrival = new Promise<boolean>((resolve) => {
          arrived = () => resolve(true)
        })
        if (!(await notify([`${sender} ?`]))) return true
        const result = await Promise.race([arrival, lost.then(() => 'lost'), after(arrivalMs, false)])
        if (result !== true) return heard || result === 'lost'
        heard = true
        if ((await Promise.race([lost.then(() => 'lost'), after(checkMs, undefined)])) === 'lost') return true
      }
    } catch {
      return true
    } finally {
      client.end().catch(() => {})
    }
  }

  async function keepListening() {
    for (let attempts = 0; !closing.signal.aborted; attempts++) {
      const startedAt = performance.now()
      if (!(await listen()) && !closing.signal.aborted) {
        if (!hasWarned) warnOfPolling(database.place)
        hasWarned = true
        await poll()
      }
      if (performance.now() - startedAt > checkMs) attempts = 0
      await after(reconnectMs[Math.min(attempts, reconnectMs.length - 1)] as number, undefined)
    }
  }

  /** Looks at all followed threads again and again, until it is time to try to listen again. */
  async function poll() {
    const until = performance.now() + listenAgainMs
    const text = `SELECT id, head FROM ${sql.table('heads')} WHERE id = ANY ($1::text[])`
    while (!closing.signal.aborted && performance.now() < until) {
      await after(pollMs, undefined)
      const known = new Map([...followed.values()].flatMap((threads) => [...threads]))
      const rows = await database
        .query<{ id: string; head: number }>('store.watch', text, [[...known.keys()].map(toColumn)])
        .catch(() => undefined)
      if (!rows) continue
      const heads = new Map(rows.map(({ id, head }) => [fromColumn(id), head]))
      for (const [id, thread] of known) {
        const head = heads.get(id)
        const hasGrown = head !== undefined && thread.head !== undefined && head > thread.head
        if (head !== thread.head) listeners.changed(id, hasGrown ? head : undefined)
        thread.head = head
      }
      listeners.runnable()
    }
  }

  const after = <Value>(ms: number, value: Value): Promise<Value> =>
    delay(ms, value, { signal: closing.signal, ref: false }).catch(() => value)

  return {
    grown(threadId, head) {
      listeners.changed(threadId, head)
      send(shortHash(threadId), head.toString(36))
    },
    other(threadId) {
      listeners.changed(threadId)
      send(shortHash(threadId), '')
    },
    runnable() {
      listeners.runnable()
      isRunnable = true
      send('', '')
    },
    watch(watcher) {
      connection ??= keepListening()
      const own = new Set<string>()
      const watch = listeners.open(watcher)
      return {
        follow(threadId) {
          if (own.has(threadId)) return
          own.add(threadId)
          watch.follow(threadId)
          follow(threadId)
        },
        unfollow(threadId) {
          if (!own.delete(threadId)) return
          watch.unfollow(threadId)
          unfollow(threadId)
        },
        close() {
          for (const threadId of own) unfollow(threadId)
          own.clear()
          watch.close()
        },
      }
    },
    async close() {
      clearTimeout(collecting)
      await sending.then(flush)
      closing.abort()
      listeners.clear()
      await connection
    },
  }
}

/** The hashes of threads that change again and again. */
const hashes = new Map<string, string>()
const maxHashes = 10_000

function shortHash(text: string): string {
  let hash = hashes.get(text)
  if (hash === undefined) {
    hash = createHash('sha1').update(text).digest('base64url').slice(0, 8)
    if (hashes.size >= maxHashes) hashes.clear()
    hashes.set(text, hash)
  }
  return hash
}

function warnOfPolling(place: string) {
  process.emitWarning(
    `notifications of PostgreSQL at ${place} do not arrive, so changes are polled, which is slower: pass the address of the server itself as 'listenUrl' if there is PgBouncer in between`,
    { code: 'MILLRACE_POLLING' },
  )
}
