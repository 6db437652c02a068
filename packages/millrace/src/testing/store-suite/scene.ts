import assert from 'node:assert/strict'
import type { Entry, ErrorCode, InputEvent, TextEvent, ThreadInfo } from '../../protocol/index.ts'
import { isMillraceError } from '../../protocol/index.ts'
import type { Lease, ThreadStore } from '../../threads/index.ts'

/** Opens the storage of that name, which is empty the first time. `now` is the store's clock. */
export type OpenStore = (storage: {
  readonly name: string
  readonly now: () => number
}) => ThreadStore | Promise<ThreadStore>

/** A storage, and the time that it lives in. */
export interface Scene {
  readonly store: ThreadStore
  /** As another process sees it. The same as `store` where it cannot be opened twice. */
  readonly other: ThreadStore
  readonly severalHandles: boolean
  now(): number
  pass(ms: number): void
}

export type Cases = Readonly<Record<string, (scene: Scene) => Promise<void>>>

export const leaseMs = 5000

let scenes = 0

export async function withScene(
  { open, severalHandles }: { readonly open: OpenStore; readonly severalHandles: boolean },
  play: (scene: Scene) => Promise<void>,
): Promise<void> {
  let time = 1_700_000_000_000
  const now = () => time
  const name = `suite-${++scenes}`
  const store = await open({ name, now })
  const other = severalHandles ? await open({ name, now }) : store
  try {
    await play({
      store,
      other,
      severalHandles,
      now,
      pass(ms) {
        time += ms
      },
    })
  } finally {
    await store.close()
    if (other !== store) await other.close()
  }
}

export function said(content: string): InputEvent {
  return { type: 'input', mode: 'queue', message: { role: 'user', content } }
}

export function word(text: string): TextEvent {
  return { type: 'text', text }
}

/** A new thread that `owner` works on. Its log has one entry. */
export async function ownedThread(store: ThreadStore, id: string, owner = 'worker'): Promise<Lease> {
  assert.equal(await store.create({ id, agent: 'a' }), true)
  await store.signal(id, undefined, said('hello'))
  return claimed(store, id, owner)
}

export async function claimed(store: ThreadStore, id: string, owner: string): Promise<Lease> {
  const claim = await store.claim(id, owner, leaseMs)
  assert.ok(claim, `${owner} should get ${id}`)
  return claim.lease
}

/** A thread as everyone sees it. */
export async function infoOf(store: ThreadStore, id: string): Promise<ThreadInfo | undefined> {
  const { bytes, caller, ...info } = (await store.get(id)) ?? {}
  return 'id' in info ? info : undefined
}

/** The whole log in pages, which must leave nothing out and repeat nothing. */
export async function readAll(
  store: ThreadStore,
  id: string,
  { after = 0, limit = 100, split }: { after?: number; limit?: number; split?: boolean } = {},
): Promise<Entry[]> {
  const entries: Entry[] = []
  for (let cursor = after; ; ) {
    const page = await store.read(id, { after: cursor, limit, split })
    for (const { from, seq } of page) {
      assert.equal(from ?? seq, cursor + 1, `in ${id}, what comes after ${cursor} must begin right behind it`)
      assert.ok(seq > cursor)
      cursor = seq
    }
    if (page.length === 0) return entries
    entries.push(...page)
  }
}

export function wordsOf(entries: readonly Entry[]): string {
  return entries.map(({ event }) => (event.type === 'text' ? event.text : '')).join('')
}

export async function rejectsWith(code: ErrorCode, promise: Promise<unknown>): Promise<void> {
  await assert.rejects(promise, (error) => {
    assert.ok(isMillraceError(error), `${error} must be a MillraceError`)
    assert.equal(error.code, code)
    assert.ok(error.message.length > 10, 'must say what is wrong')
    return true
  })
}

/** Far more than any machine should need. */
const soonMs = 10_000

/** Waits for what a store promises to do soon. */
export async function soon(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + soonMs
  while (!(await condition())) {
    if (performance.now() > end) assert.fail(`${what} did not happen`)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}
