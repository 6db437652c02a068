import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it, vi } from 'vitest'
import type { InputEvent, RoundEndEvent } from '../../protocol/index.ts'
import { searchWords } from '../../protocol/index.ts'
import { sqliteStore } from '../sqlite.ts'
import type { Lease } from '../store.ts'
import { migrate } from './migrate.ts'
import { schemaVersion } from './schema.ts'
import { expectIntact, other, soon, temporaryFolder } from './sqlite.test-kit.ts'
import { makeVersion1 } from './version-1.test-kit.ts'
import { makeVersion2 } from './version-2.test-kit.ts'
import { makeVersion3 } from './version-3.test-kit.ts'
import { makeVersion4 } from './version-4.test-kit.ts'
import { makeVersion5 } from './version-5.test-kit.ts'
import { makeVersion6 } from './version-6.test-kit.ts'
import { makeVersion7 } from './version-7.test-kit.ts'
import { makeVersion8 } from './version-8.test-kit.ts'

const folder = temporaryFolder()
const open: DatabaseSync[] = []
afterAll(() => {
  for (const database of open) if (database.isOpen) database.close()
})

function userInput(
  content: InputEvent['message']['content'],
  mode: InputEvent['mode'] = 'queue',
): InputEvent {
  return { type: 'input', mode, message: { role: 'user', content } }
}

function oldFile(name: string, threads: Parameters<typeof makeVersion1>[1]): string {
  const path = join(folder, `${name}.db`)
  makeVersion1(path, threads).close()
  return path
}

function query<Row>(path: string, sql: string): Row[] {
  const database = new DatabaseSync(path)
  const rows = database.prepare(sql).all() as Row[]
  database.close()
  return rows
}

/** Every column of every table, and every index, in a stable order. */
function shapeOf(path: string) {
  return {
    columns: query(
      path,
      `SELECT tables.name AS "table", columns.name, columns.type, columns."notnull", columns.dflt_value, columns.pk
       FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns WHERE tables.type = 'table' ORDER BY 1, 2`,
    ),
    indexes: query(path, `SELECT name, tbl_name, sql FROM sqlite_schema WHERE type = 'index' ORDER BY name`),
    version: query(path, 'PRAGMA user_version'),
  }
}

describe('a file of the first version', () => {
  it('gets the tables that a new file has', async () => {
    const path = oldFile('shape', [{ id: 't' }])
    await sqliteStore(path).close()
    const fresh = join(folder, 'fresh.db')
    await sqliteStore(fresh).close()
    expect(shapeOf(path)).toEqual(shapeOf(fresh))
    expectIntact(path)
  })

  it('has its threads titled by their first message, and found by it', async () => {
    const path = oldFile('titles', [
      { id: 'asked', events: [userInput(' Where\nis it? '), userInput('Hello?')] },
      { id: 'silent', events: [{ type: 'stop', reason: '"input"' }] },
      { id: 'empty', metadata: '{"customer":"Ada"}' },
      {
        id: 'late',
        events: [
          { type: 'tool-call', callId: 'c', name: 'n', input: {} },
          userInput('No JSON.', 'correct'),
          userInput([{ type: 'image', url: 'https://x.test/i.png' }], 'steer'),
        ],
      },
      { id: '\ud83d', agent: 'Odd', events: [userInput('a\0b \ud83e')] },
    ])
    const store = sqliteStore(path)
    const { threads } = await store.list({ limit: 10 })
    expect(threads.map(({ id, title }) => [id, title])).toEqual([
      ['\ud83d', 'a\0b \ud83e'],
      ['late', '[image]'],
      ['empty', undefined],
      ['silent', undefined],
      ['asked', 'Where is it?'],
    ])
    for (const [search, id] of [
      ['WHERE', 'asked'],
      ['ada', 'empty'],
      ['\ud83e odd', '\ud83d'],
    ] as const)
      expect((await store.list({ limit: 10, search: searchWords(search) })).threads, search).toMatchObject([
        { id },
      ])
    const label = { title: 'At last', search: 'AT LAST' }
    await store.signal('silent', crypto.randomUUID(), userInput('At last'), { label })
    await store.signal('asked', crypto.randomUUID(), userInput('Still there?'), { label })
    expect((await store.list({ limit: 10, search: ['LAST'] })).threads).toMatchObject([{ id: 'silent' }])
    expect(await store.get('silent')).toMatchObject({ title: 'At last', head: 2 })
    expect(await store.get('asked')).toMatchObject({ title: 'Where is it?' })
    expect((await store.read('asked', { after: 0, limit: 9 })).map(({ event }) => event)).toMatchObject([
      { type: 'input' },
      { type: 'input' },
      { type: 'input' },
    ])
    await store.close()
  })

  it('is migrated completely, even with more threads than fit into one slice', async () => {
    const ids = Array.from({ length: 2500 }, (_, index) => `t${index}`)
    const path = oldFile(
      'many',
      ids.map((id) => ({ id, events: [userInput(`about ${id}`)] })),
    )
    await sqliteStore(path).close()
    expect(query(path, 'SELECT count(title) AS titles FROM threads')).toEqual([{ titles: 2500 }])
    expect(query(path, "SELECT id FROM threads WHERE title <> 'about ' || id")).toEqual([])
    expect(query(path, 'SELECT count(*) AS texts FROM searches')).toEqual([{ texts: 2500 }])
  })

  it('is migrated even if a thread in it is damaged', async () => {
    const path = oldFile('damaged', [
      { id: 'broken', metadata: '{', events: ['{"type":"input",', userInput('unseen')] },
      { id: 'odd', events: ['{"type":"input"}'] },
      { id: 'whole', events: [userInput('fine')] },
    ])
    const store = sqliteStore(path)
    expect(await store.get('whole')).toMatchObject({ title: 'fine' })
    expect((await store.list({ limit: 1, search: ['FINE'] })).threads).toMatchObject([{ id: 'whole' }])
    await store.close()
  })

  it('is unchanged if the migration fails midway', () => {
    const path = oldFile('broken-off', [{ id: 't', events: [userInput('hello')] }])
    const before = new DatabaseSync(path)
    // Conflicts with a table that the step creates.
    before.exec('CREATE TABLE searches (thread, text)')
    before.close()
    const bytes = readFileSync(path)
    expect(() => sqliteStore(path)).toThrow(expect.objectContaining({ code: 'store_error' }))
    expect(readFileSync(path).equals(bytes)).toBe(true)
    expect(query(path, 'PRAGMA user_version')).toEqual([{ user_version: 1 }])
  })
})

describe('a file of the second version', () => {
  it('has its threads counted for their users', async () => {
    const path = join(folder, 'callers.db')
    const event = userInput('Grüße')
    const size = Buffer.byteLength(JSON.stringify(event))
    const database = makeVersion2(path, [
      { id: 'one', user: 'ada', events: [event, event] },
      { id: 'two', user: 'ada', metadata: '{"a":1}' },
      { id: 'three', user: 'bob', events: ['damaged'] },
      { id: 'four', events: [event] },
    ])
    database.exec(`UPDATE entries SET cuts = '[1,2]' WHERE seq = 2`)
    database.close()
    await sqliteStore(path).close()
    const cuts = '[1,2]'.length
    expect(
      query(
        path,
        'SELECT id, threads.bytes, queued, name FROM threads LEFT JOIN callers ON callers.n = caller',
      ),
    ).toEqual([
      { id: 'one', bytes: 256 + 2 * size + cuts, queued: 0, name: 'ada' },
      { id: 'two', bytes: 256 + 7, queued: 0, name: 'ada' },
      { id: 'three', bytes: 256 + 'damaged'.length, queued: 0, name: 'bob' },
      { id: 'four', bytes: 256 + size, queued: 0, name: null },
    ])
    expect(query(path, 'SELECT name, bytes, waiting, minute FROM callers ORDER BY name')).toEqual([
      { name: 'ada', bytes: 512 + 7 + 2 * size + cuts, waiting: 0, minute: 0 },
      { name: 'bob', bytes: 256 + 'damaged'.length, waiting: 0, minute: 0 },
    ])
    expectIntact(path)
  })

  it('gets the tables that a new file has', async () => {
    const path = join(folder, 'shape-2.db')
    makeVersion2(path, [{ id: 't' }]).close()
    await sqliteStore(path).close()
    const fresh = join(folder, 'fresh-2.db')
    await sqliteStore(fresh).close()
    expect(shapeOf(path)).toEqual(shapeOf(fresh))
    expectIntact(path)
  })
})

describe('a file of the third version', () => {
  it('gets the tables that a new file has', async () => {
    const path = join(folder, 'shape-3.db')
    makeVersion3(path, [{ id: 't' }]).close()
    await sqliteStore(path).close()
    const fresh = join(folder, 'fresh-3.db')
    await sqliteStore(fresh).close()
    expect(shapeOf(path)).toEqual(shapeOf(fresh))
    expectIntact(path)
  })

  it('keeps titles, snapshots and forks, which are copies, and loses incomplete copies', async () => {
    const path = join(folder, 'copies.db')
    const database = makeVersion3(path, [
      { id: 't', events: [userInput('one'), userInput('two')] },
      { id: 'f', events: [userInput('one')] },
      { id: '"fork:1', events: [userInput('one')] },
    ])
    database.exec(`
      UPDATE threads SET title = 'One', forked_id = 't', forked_seq = 1 WHERE id = 'f';
      INSERT INTO searches SELECT n, 'ONE' FROM threads WHERE id = 'f';
      INSERT INTO snapshots (thread, name, seq, text) SELECT n, '', 2, 'head' FROM threads WHERE id = 't';
      INSERT INTO snapshots (thread, name, seq, text) SELECT n, 'part/a', 0, 'part' FROM threads WHERE id = 't';
      INSERT INTO callers (n, name, bytes) VALUES (7, 'ada', 500);
      UPDATE threads SET id = '"fork:1', place = -n, caller = 7, bytes = 500 WHERE n = 3`)
    database.close()
    const store = sqliteStore(path)
    expect((await store.list({ limit: 9 })).threads.map(({ id, title }) => [id, title])).toEqual([
      ['f', 'One'],
      ['t', undefined],
    ])
    expect((await store.list({ limit: 9, search: ['ONE'] })).threads).toMatchObject([
      { id: 'f', forkedFrom: { id: 't', seq: 1 } },
    ])
    expect(await store.snapshot('t')).toEqual({ seq: 2, state: 'head' })
    expect(await store.snapshot('t', 1)).toBeUndefined()
    expect(await store.snapshotPart('t', 'a')).toBe('part')
    await store.delete('t')
    expect(await store.read('f', { after: 0, limit: 9 })).toMatchObject([{ seq: 1, event: userInput('one') }])
    await soon(() => query(path, 'SELECT 1 FROM threads').length === 1)
    expect((await store.usage('ada')).storedBytes).toBe(0)
    await store.close()
    expectIntact(path)
  })
})

describe('a file of the fourth version', () => {
  it('gets the tables that a new file has', async () => {
    const path = join(folder, 'shape-4.db')
    makeVersion4(path, [{ id: 't' }]).close()
    await sqliteStore(path).close()
    const fresh = join(folder, 'fresh-4.db')
    await sqliteStore(fresh).close()
    expect(shapeOf(path)).toEqual(shapeOf(fresh))
    expectIntact(path)
  })

  it('keeps metadata and search texts, whether a thread has one, both or none', async () => {
    const path = join(folder, 'metadata.db')
    const database = makeVersion4(path, [
      { id: 'both', metadata: '{"customer":"Ada"}' },
      { id: 'data', metadata: '{"note":"\\ud83d\\u0000"}' },
      { id: 'text' },
      { id: 'none' },
    ])
    database.exec(`INSERT INTO searches SELECT n, 'FOUND' FROM threads WHERE id IN ('both', 'text')`)
    database.close()
    const store = sqliteStore(path)
    const metadataIn = async (search?: string[]) =>
      (await store.list({ limit: 9, search })).threads.map(({ id, metadata }) => [id, metadata])
    expect(await metadataIn()).toEqual([
      ['none', undefined],
      ['text', undefined],
      ['data', { note: '\ud83d\0' }],
      ['both', { customer: 'Ada' }],
    ])
    expect(await metadataIn(['FOUND'])).toEqual([
      ['text', undefined],
      ['both', { customer: 'Ada' }],
    ])
    expect((await store.get('data'))?.metadata).toEqual({ note: '\ud83d\0' })
    await store.close()
  })

  it('keeps forks, keys and what there is to do, and numbers the batches of new leases', async () => {
    const path = join(folder, 'lost.db')
    const database = makeVersion4(path, [
      { id: 'lost', user: 'ada', events: [userInput('one'), userInput('two')] },
      { id: 'queued', user: 'ada', events: [userInput('three')] },
      { id: 'fork' },
    ])
    database.exec(`
      INSERT INTO signals SELECT n, 'key', 2 FROM threads WHERE id = 'lost';
      UPDATE threads SET due = 1000, owner = 'a lost worker', epoch = 40, lease_ms = 500 WHERE id = 'lost';
      UPDATE threads SET due = 1200 WHERE id = 'queued';
      UPDATE threads SET base = 1, base_seq = 1, head = 1 WHERE id = 'fork'`)
    database.close()
    const store = sqliteStore(path, { now: () => 2000 })
    expect(await store.findRunnable(9, ['a'])).toEqual([
      { id: 'lost', agent: 'a', head: 2, priority: 'interactive', waitedMs: 1000 },
      { id: 'queued', agent: 'a', head: 1, priority: 'interactive', waitedMs: 800 },
    ])
    expect(await store.signal('lost', 'key', userInput('again'))).toMatchObject({
      entry: { seq: 2 },
      repeated: true,
    })
    const stale = { threadId: 'lost', owner: 'a lost worker', epoch: 40 }
    const claim = await store.claim('lost', 'worker', 5000)
    expect(claim).toMatchObject({ losses: 1 })
    const batch = { lease: claim?.lease ?? stale, number: 1, events: [userInput('four')] }
    const entry = { seq: 3, at: 2000, event: userInput('four') }
    for (let time = 0; time < 2; time++) expect(await store.append([batch])).toEqual([[entry]])
    expect(await store.append([{ ...batch, lease: stale }])).toEqual(['fenced'])
    expect(await store.read('fork', { after: 0, limit: 9 })).toMatchObject([
      { seq: 1, event: userInput('one') },
    ])
    await store.close()
    expectIntact(path)
  })
})

describe('a file of the fifth version', () => {
  it('gets the tables that a new file has, and its keys can be found', async () => {
    const path = join(folder, 'shape-5.db')
    const database = makeVersion5(path, [{ id: 't', events: [userInput('one')] }])
    database.exec(`INSERT INTO signals SELECT n, 'key', 1 FROM threads`)
    database.close()
    const store = sqliteStore(path)
    expect(await store.findKey('key', 9)).toEqual([{ threadId: 't', seq: 1 }])
    await store.close()
    const fresh = join(folder, 'fresh-5.db')
    await sqliteStore(fresh).close()
    expect(shapeOf(path)).toEqual(shapeOf(fresh))
    expectIntact(path)
  })
})

describe('a file of the sixth version', () => {
  it('gets the tables that a new file has, and counts what is spent from then on', async () => {
    const path = join(folder, 'shape-6.db')
    const roundEnd: RoundEndEvent = {
      type: 'round-end',
      round: 1,
      model: 'm',
      finish: 'stop',
      usage: { inputTokens: 5, outputTokens: 2 },
      cost: { usd: 0.5, prices: 'custom' },
    }
    const database = makeVersion6(path, [{ id: 't', user: 'ada', events: [userInput('one'), roundEnd] }])
    database.exec(`UPDATE threads SET due = 1000, owner = 'a lost worker', epoch = 40, lease_ms = 500`)
    database.close()
    const store = sqliteStore(path, { now: () => 2000 })
    expect(await store.spending({ by: ['user'] })).toEqual([])
    const lease = (await store.claim('t', 'worker', 5000))?.lease as Lease
    const limits = [{ scope: 'user', name: 'ada', limits: { usd: 1 } }] as const
    const hold = { id: 'one', least: { usd: 0.2 }, most: { usd: 0.6 }, limits }
    expect(await store.hold(lease, hold)).toEqual({ type: 'held' })
    await store.append([{ lease, number: 1, events: [roundEnd], freed: ['one'] }])
    expect(await store.spending({ by: ['user', 'day'] })).toMatchObject([
      { user: 'ada', day: '1970-01-01', usd: 0.5, rounds: 1, inputTokens: 5 },
    ])
    await store.close()
    const fresh = join(folder, 'fresh-6.db')
    await sqliteStore(fresh).close()
    expect(shapeOf(path)).toEqual(shapeOf(fresh))
    expectIntact(path)
  })
})

describe('a file of the seventh version', () => {
  it('gets the tables that a new file has, and its threads have no facts until they are saved', async () => {
    const path = join(folder, 'shape-7.db')
    const database = makeVersion7(path, [
      { id: 't', metadata: '{"customer":"Ada"}', events: [userInput('one')] },
      { id: 'u', events: [userInput('two')] },
    ])
    database.exec(`
      UPDATE searches SET text = 'LABEL';
      UPDATE threads SET title = 'Label', due = 1000, owner = 'a lost worker', epoch = 40, lease_ms = 500 WHERE id = 't'`)
    database.close()
    const store = sqliteStore(path, { now: () => 2000 })
    const { threads } = await store.list({ limit: 9 })
    for (const thread of threads)
      for (const name of ['outcome', 'knownUsd']) expect(thread).not.toHaveProperty(name)
    expect(await store.list({ limit: 9, minNanos: 0 })).toEqual({ threads: [] })
    const lease = (await store.claim('t', 'worker', 5000))?.lease as Lease
    const texts = [{ seq: 1, text: 'one', search: 'ONE' }]
    const facts = { outcome: 'completed', nanos: 5e8, tools: ['look'], texts } as const
    expect(await store.release(lease, { head: 1, status: 'idle', facts })).toBe('released')
    expect((await store.list({ limit: 9, search: ['ONE', 'LABEL'], tool: 'look' })).threads).toMatchObject([
      { id: 't', title: 'Label', outcome: 'completed', knownUsd: 0.5, metadata: { customer: 'Ada' } },
    ])
    await store.close()
    const fresh = join(folder, 'fresh-7.db')
    await sqliteStore(fresh).close()
    expect(shapeOf(path)).toEqual(shapeOf(fresh))
    expectIntact(path)
  })
})

describe('a file of the eighth version', () => {
  it('gets the tables that a new file has, and what is added to its threads comes after what they had', async () => {
    const path = join(folder, 'shape-8.db')
    makeVersion8(path, [{ id: 't', events: [userInput('one'), userInput('two')] }]).close()
    const store = sqliteStore(path)
    await store.signal('t', 'a key', userInput('three'))
    const contents = (await store.read('t', { after: 0, limit: 9 })).map(
      ({ seq, event }) => `${seq} ${(event as InputEvent).message.content}`,
    )
    expect(contents).toEqual(['1 one', '2 two', '3 three'])
    await store.close()
    const fresh = join(folder, 'fresh-8.db')
    await sqliteStore(fresh).close()
    expect(shapeOf(path)).toEqual(shapeOf(fresh))
    expectIntact(path)
  })
})

describe('two processes with different versions', () => {
  it('never have a file open at the same time: the newer waits for the older, then reports it', () => {
    const path = oldFile('in-use', [{ id: 't' }])
    const older = new DatabaseSync(path)
    open.push(older)
    // This is all it ever reads about the version.
    expect(older.prepare('PRAGMA user_version').get()).toEqual({ user_version: 1 })
    expect(() => sqliteStore(path)).toThrow(
      expect.objectContaining({
        code: 'store_error',
        message: expect.stringMatching(
          /created by an older version of millrace .* another process has it open: stop that process first/,
        ),
      }),
    )
    // The older process continues undisturbed.
    older.exec("UPDATE threads SET agent = 'older'")
    expect(older.prepare('PRAGMA user_version').get()).toEqual({ user_version: 1 })
    older.close()
  })

  it('the older one cannot read the file during a migration, and finds the new version after it', async () => {
    const path = oldFile('changed', [{ id: 't', events: [userInput('hello')] }])
    const older = new DatabaseSync(path)
    open.push(older)
    const versions: unknown[] = []
    const readVersion = () => {
      try {
        versions.push(older.prepare('PRAGMA user_version').get()?.user_version)
      } catch (error) {
        versions.push((error as Error).message)
      }
    }
    // The step parses events, so this runs in the middle of it.
    const parse = vi.spyOn(JSON, 'parse').mockImplementationOnce((text) => {
      readVersion()
      return JSON.parse(text)
    })
    migrate(path)
    parse.mockRestore()
    readVersion()
    expect(versions).toEqual(['database is locked', schemaVersion])
    older.close()
  })

  it('several newer ones migrate it once, together', async () => {
    const path = oldFile('together', [{ id: 't', events: [userInput('hello')] }])
    const others = Array.from({ length: 4 }, () => other(['open', path]))
    await Promise.all(others.map((each) => each.ended()))
    expect(others.flatMap(({ reports }) => reports)).toEqual(others.map(() => ({ created: true })))
    expect(query(path, 'SELECT id, title FROM threads WHERE title IS NOT NULL')).toEqual([
      { id: 't', title: 'hello' },
    ])
    expectIntact(path)
  })
})
