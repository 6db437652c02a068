import assert from 'node:assert/strict'
import type { Entry, ErrorCode, InputEvent, TextEvent, ThreadInfo } from '../../protocol/index.ts'
import { isMillraceError } from '../../protocol/index.ts'
import type { Lease, ThreadStore } from '../../threads/index.ts'

/** Opens the storage with this name, which is empty at first. `now` is the store's clock. */
export type OpenStore = (storage: {
  readonly name: string
  readonly now: () => number
}) => ThreadStore | Promise<ThreadStore>

/** A storage and its clock. */
export interface SuiteContext {
  readonly store: ThreadStore
  /** The storage as another process sees it. The same as `store` if it cannot be opened twice. */
  readonly other: ThreadStore
  readonly severalHandles: boolean
  now(): number
  advance(ms: number): void
}

export type Cases = Readonly<Record<string, (context: SuiteContext) => Promise<void>>>

export const leaseMs = 5000

let storages = 0

export async function withContext(
  { open, severalHandles }: { readonly open: OpenStore; readonly severalHandles: boolean },
  run: (context: SuiteContext) => Promise<void>,
): Promise<void> {
  let time = 1_700_000_000_000
  const now = () => time
  const name = `suite-${++storages}`
  const store = await open({ name, now })
  const other = severalHandles ? await open({ name, now }) : store
  try {
    await run({
      store,
      other,
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

export function userInput(content: string): InputEvent {
  return { type: 'input', mode: 'queue', message: { role: 'user', content } }
}

export function textDelta(text: string): TextEvent {
  return { type: 'text', text }
}

/** Creates a thread owned by `owner`, with one entry. */
export async function ownedThread(store: ThreadStore, id: string, owner = 'worker'): Promise<Lease> {
  assert.equal(await store.create({ id, agent: 'a' }), true)
  await store.signal(id, undefined, userInput('hello'))
  return claimed(store, id, owner)
}

export async function claimed(store: ThreadStore, id: string, owner: string): Promise<Lease> {
  const claim = await store.claim(id, owner, leaseMs)
  assert.ok(claim, `${owner} should get ${id}`)
  return claim.lease
}

/** The public info of a thread. */
export async function infoOf(store: ThreadStore, id: string): Promise<ThreadInfo | undefined> {
  const { bytes, caller, ...info } = (await store.get(id)) ?? {}
  return 'id' in info ? info : undefined
}

/** Reads the whole log in pages, and checks that nothing is missing or repeated. */
export async function readAll(
  store: ThreadStore,
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
