import { DatabaseSync } from 'node:sqlite'

export type Row = readonly [run: string, seq: number, json: string]

export interface Committer {
  /** Resolves when the rows are on disk. */
  commit(rows: readonly Row[]): Promise<void>
  read(run: string, after: number, until: number): readonly { readonly seq: number; readonly json: string }[]
}

/** Writes on the thread that calls it. */
export function openRows(file: string) {
  const database = new DatabaseSync(file)
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS events (run TEXT, seq INTEGER, json TEXT, PRIMARY KEY (run, seq)) WITHOUT ROWID`)
  const insert = database.prepare('INSERT INTO events VALUES (?, ?, ?)')
  return (rows: readonly Row[]) => {
    database.exec('BEGIN IMMEDIATE')
    for (const [run, seq, json] of rows) insert.run(run, seq, json)
    database.exec('COMMIT')
  }
}

export function reader(file: string): Committer['read'] {
  const database = new DatabaseSync(file)
  const select = database.prepare('SELECT seq, json FROM events WHERE run = ? AND seq > ? AND seq <= ?')
  return (run, after, until) => select.all(run, after, until) as { seq: number; json: string }[]
}

export async function committer(file: string): Promise<Committer> {
  const write = openRows(file)
  return { commit: async (rows) => write(rows), read: reader(file) }
}
