import { chmodSync, mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

export interface PushConfig {
  readonly task: string
  readonly id: string
  readonly thread: string
  readonly url: string
  readonly token: string
  readonly scheme: string
  readonly credentials: string
  /** The number of the last entry that was delivered. */
  readonly sent: number
  /** The process that delivers it. */
  readonly owner: string
}

/** Which clients want to be notified, in a file of its own: it holds their credentials. */
export interface PushStore {
  /** Replaces one with the same id. Returns false if there are too many for the task, or in all. */
  add(config: PushConfig, leaseMs: number): boolean
  get(task: string, id: string): PushConfig | undefined
  list(task: string): readonly PushConfig[]
  remove(config: Pick<PushConfig, 'task' | 'id'>): void
  /** Claims those that no living process works on, for `leaseMs`. */
  claim(owner: string, leaseMs: number): readonly PushConfig[]
  renew(config: PushConfig, owner: string, leaseMs: number): void
  release(owner: string): void
  delivered(config: PushConfig, seq: number): void
  close(): void
}

const maxPerTask = 10
const maxConfigs = 10_000

export function pushStore(file: string): PushStore {
  const path = resolve(file)
  mkdirSync(dirname(path), { recursive: true })
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const database = new DatabaseSync(path)
  // It holds credentials, and SQLite gives its other files the same mode.
  chmodSync(path, 0o600)
  database.exec(`
    PRAGMA busy_timeout = 5000;
    PRAGMA journal_mode = WAL;
    CREATE TABLE IF NOT EXISTS push (
      task TEXT NOT NULL, id TEXT NOT NULL, thread TEXT NOT NULL, url TEXT NOT NULL, token TEXT NOT NULL,
      scheme TEXT NOT NULL, credentials TEXT NOT NULL, sent INTEGER NOT NULL,
      owner TEXT NOT NULL, until INTEGER NOT NULL, PRIMARY KEY (task, id)
    ) WITHOUT ROWID`)
  const insert = database.prepare(
    `INSERT INTO push (task, id, thread, url, token, scheme, credentials, sent, owner, until)
     SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE (SELECT count(*) FROM push WHERE task = ?) < ${maxPerTask}
       AND (SELECT count(*) FROM push) < ${maxConfigs}
     ON CONFLICT DO UPDATE SET url = excluded.url, token = excluded.token, scheme = excluded.scheme,
       credentials = excluded.credentials, sent = max(sent, excluded.sent), owner = excluded.owner, until = excluded.until`,
  )
  const one = database.prepare('SELECT * FROM push WHERE task = ? AND id = ?')
  const ofTask = database.prepare('SELECT * FROM push WHERE task = ? ORDER BY id')
  const remove = database.prepare('DELETE FROM push WHERE task = ? AND id = ?')
  const claim = database.prepare('UPDATE push SET owner = ?, until = ? WHERE until < ? RETURNING *')
  const renew = database.prepare('UPDATE push SET until = ? WHERE task = ? AND id = ? AND owner = ?')
  const release = database.prepare("UPDATE push SET owner = '', until = 0 WHERE owner = ?")
  const delivered = database.prepare('UPDATE push SET sent = ? WHERE task = ? AND id = ? AND sent < ?')
  return {
    add({ task, id, thread, url, token, scheme, credentials, sent, owner }, leaseMs) {
      const until = Date.now() + leaseMs
      const values = [task, id, thread, url, token, scheme, credentials, sent, owner, until]
      return insert.run(...values, task).changes > 0
    },
    get: (task, id) => one.get(task, id) as PushConfig | undefined,
    list: (task) => ofTask.all(task) as unknown as PushConfig[],
    remove: ({ task, id }) => void remove.run(task, id),
    claim: (owner, leaseMs) => claim.all(owner, Date.now() + leaseMs, Date.now()) as unknown as PushConfig[],
    renew: ({ task, id }, owner, leaseMs) => void renew.run(Date.now() + leaseMs, task, id, owner),
    release: (owner) => void release.run(owner),
    delivered: ({ task, id }, seq) => void delivered.run(seq, task, id, seq),
    close: () => database.close(),
  }
}
