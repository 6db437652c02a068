import assert from 'node:assert/strict'
import type {
  Entry,
  ErrorCode,
  InputEvent,
  TextEvent,
  ThreadEvent,
  ThreadInfo,
} from '../../protocol/index.ts'
import { isMillraceError } from '../../protocol/index.ts'
import type { AppendResult, Batch, Lease, SignalOptions, ThreadStore } from '../../threads/index.ts'

/** Opens the storage with this name, which is empty at first. `now` is the store's clock. */
export type OpenStore = (storage: {
  readonly name: string
  readonly now: () => number
}) => ThreadStore | Promise<ThreadStore>

/** A store whose batches are numbered, and whose signals get a key, if they have none. */
export interface SuiteStore extends Omit<ThreadStore, 'append' | 'signal'> {
  /** Repeats batches of busy threads. */
  append(
    batches: readonly (Omit<Batch, 'number'> & Partial<Batch>)[],
  ): Promise<readonly Exclude<AppendResult, 'busy'>[]>
  signal(
    threadId: string,
    key: string | undefined,
    event: ThreadEvent,
    options?: SignalOptions,
  ): ReturnType<ThreadStore['signal']>
  /** The ids that `findRunnable` returns. */
  runnableIds(...args: Parameters<ThreadStore['findRunnable']>): Promise<string[]>
}

/** A storage and its clock. */
export interface SuiteContext {
  readonly store: SuiteStore
  /** The storage as another process sees it. The same as `store` if it cannot be opened twice. */
  readonly other: SuiteStore
  readonly severalHandles: boolean
  now(): number
  advance(ms: number): void
}

export type Cases = Readonly<Record<string, (context: SuiteContext) => Promise<void>>>

export const leaseMs = 5000

let storages = 0

/** How a case is run. */
interface RunOptions {
  readonly open: OpenStore
  readonly severalHandles: boolean
  /** Every write is repeated, as after a lost acknowledgement. */
  readonly repeats: boolean
}

export async function withContext(
  { open, severalHandles, repeats }: RunOptions,
  run: (context: SuiteContext) => Promise<void>,
): Promise<void> {
  let time = 1_700_000_000_000
  const now = () => time
  const name = `suite-${++storages}`
  const store = await open({ name, now })
  const other = severalHandles ? await open({ name, now }) : store
  const states = leaseStates()
  const wrap = (one: ThreadStore) => suiteStore(repeats ? repeating(one) : one, states)
  try {
    await run({
      store: wrap(store),
      other: wrap(other),
      severalHandles,
      now,
      advance(ms) {
        time += ms
      },
    })
  } finally {
    await store.close()
    if (other !== store) await other.close()
  }
}

let keys = 0

/** What the users of a storage know of its leases. */
interface LeaseStates {
  /** The number of the last batch. */
  readonly numbers: Map<string, number>
  /** Settles when the batch in progress is written: the next one must wait for it. */
  readonly writing: Map<string, Promise<unknown>>
}

function leaseStates(): LeaseStates {
  return { numbers: new Map(), writing: new Map() }
}

/** The states of leases are shared by all stores on the same storage. */
function suiteStore(store: ThreadStore, { numbers, writing } = leaseStates()): SuiteStore {
  type SuiteBatch = Parameters<SuiteStore['append']>[0][number]
  const idOf = ({ lease: { threadId, epoch, owner } }: SuiteBatch) => `${epoch} ${threadId} ${owner}`

  async function append(given: readonly SuiteBatch[]) {
    const next = (batch: SuiteBatch) => (numbers.get(idOf(batch)) ?? 0) + 1
    const batches = given.map((batch) => ({ number: next(batch), ...batch }))
    const results = await withoutBusy(store, batches)
    for (const batch of batches) if (batch.events.length > 0) numbers.set(idOf(batch), batch.number)
    return results
  }

  return {
    ...store,
    append(batches) {
      const ids = batches.map(idOf)
      const before = ids.flatMap((id) => writing.get(id) ?? [])
      const appending = before.length > 0 ? Promise.all(before).then(() => append(batches)) : append(batches)
      const settled = appending
        .catch(() => {})
        .then(() => {
          for (const id of ids) if (writing.get(id) === settled) writing.delete(id)
        })
      for (const id of ids) writing.set(id, settled)
      return appending
    },
    signal: (threadId, key, ...rest) => store.signal(threadId, key ?? `suite-${++keys}`, ...rest),
    runnableIds: async (...args) => (await store.findRunnable(...args)).map(({ id }) => id),
  }
}

/** Appends, and repeats the batches of threads that are busy. */
async function withoutBusy(store: ThreadStore, batches: readonly Batch[]) {
  const results = [...(await store.append(batches))]
  for (const [index, batch] of batches.entries())
    while (results[index] === 'busy') [results[index] = 'busy'] = await store.append([batch])
  return results as Exclude<AppendResult, 'busy'>[]
}

/** Writes everything twice. The second time must return the same, and write nothing. */
function repeating(store: ThreadStore): ThreadStore {
  let isClosing = false

  async function twice<Value>(write: () => Promise<Value>): Promise<Value> {
    const first = await write()
    if (!isClosing) assert.deepEqual(await write(), first)
    return first
  }

  return {
    ...store,
    append: (batches) => twice(() => withoutBusy(store, batches)),
    async signal(...args) {
      const first = await store.signal(...args)
      if (isClosing) return first
      try {
        assert.deepEqual(await store.signal(...args), { ...first, repeated: true })
      } catch (error) {
        // The thread may have been deleted in the meantime.
        if (!(isMillraceError(error) && error.code === 'not_found')) throw error
      }
      return first
    },
    claim: (...args) => twice(() => store.claim(...args)),
    renew: (...args) => twice(() => store.renew(...args)),
    release: (...args) => twice(() => store.release(...args)),
    saveFacts: (...args) => twice(() => store.saveFacts(...args)),
    hold: (...args) => twice(() => store.hold(...args)),
    saveSnapshot: (lease, { parts, head }) => {
      const given = [...parts]
      return twice(() => store.saveSnapshot(lease, { parts: given, head }))
    },
    packDeltas: (...args) => twice(() => store.packDeltas(...args)),
    close() {
      isClosing = true
      return store.close()
    },
  }
}

export function userInput(content: string): InputEvent {
  return { type: 'input', mode: 'queue', message: { role: 'user', content } }
}

export function textDelta(text: string): TextEvent {
  return { type: 'text', text }
}

/** Creates a thread owned by `owner`, with one entry. */
export async function ownedThread(store: SuiteStore, id: string, owner = 'worker'): Promise<Lease> {
  assert.equal(await store.create({ id, agent: 'a' }), true)
  await store.signal(id, undefined, userInput('hello'))
  return claimed(store, id, owner)
}

export async function claimed(store: SuiteStore, id: string, owner: string): Promise<Lease> {
  const claim = await store.claim(id, owner, leaseMs)
  assert.ok(claim, `${owner} should get ${id}`)
  return claim.lease
}

/** The public info of a thread. */
export async function infoOf(store: SuiteStore, id: string): Promise<ThreadInfo | undefined> {
  const { bytes, caller, priority, ...info } = (await store.get(id)) ?? {}
  return 'id' in info ? info : undefined
}

/** Reads the whole log in pages, and checks that nothing is missing or repeated. */
export async function readAll(
  store: SuiteStore,
  id: string,
  { after = 0, limit = 100, split }: { after?: number; limit?: number; split?: boolean } = {},
): Promise<Entry[]> {
  const entries: Entry[] = []
  for (let cursor = after; ; ) {
    const page = await store.read(id, { after: cursor, limit, split })
    for (const { from, seq } of page) {
      assert.equal(
        from ?? seq,
        cursor + 1,
        `in ${id}, the entry after ${cursor} must start at the next number`,
      )
      assert.ok(seq > cursor)
      cursor = seq
    }
    if (page.length === 0) return entries
    entries.push(...page)
  }
}

export function textIn(entries: readonly Entry[]): string {
  return entries.map(({ event }) => (event.type === 'text' ? event.text : '')).join('')
}

export async function rejectsWith(code: ErrorCode, promise: Promise<unknown>): Promise<void> {
  await assert.rejects(promise, (error) => {
    assert.ok(isMillraceError(error), `${error} must be a MillraceError`)
    assert.equal(error.code, code)
    assert.ok(error.message.length > 10, 'the message must say what is wrong')
    return true
  })
}

/** Far more than any machine should need. */
const timeoutMs = 10_000

/** Waits for something that a store guarantees to happen soon. */
export async function soon(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + timeoutMs
  while (!(await condition())) {
    if (performance.now() > end) assert.fail(`${what} did not happen`)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}
