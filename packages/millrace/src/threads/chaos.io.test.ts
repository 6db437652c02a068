import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sized } from '../../../../test/size.ts'
import { checkSnapshots } from '../log/snapshot.test-kit.ts'
import { temporaryFolder } from '../log/sqlite/sqlite.test-kit.ts'
import { sqliteStore } from '../log/sqlite.ts'
import type { Entry, ThreadState, UserMessage } from '../protocol/index.ts'
import {
  applyEntry,
  approvalsOf,
  conversationOf,
  emptyThread,
  findUnpaired,
  messagesOf,
  nextThreadAction,
} from '../protocol/index.ts'
import { applyEntry as applyToView, createView } from '../view/index.ts'
import type { Conditions } from './chaos.test-kit.ts'
import { answers, until, within, world } from './chaos.test-kit.ts'
import type { Action, Chaos, Reader } from './chaos-actions.test-kit.ts'
import { actions, disruptive } from './chaos-actions.test-kit.ts'
import { injected } from './chaos-store.test-kit.ts'
import type { Thread, ThreadStore } from './index.ts'
import { memoryStore } from './index.ts'
import { checkNumbers, eventsOf, typesOf } from './threads.test-kit.ts'

// Whatever users do to threads, in whatever order, while apps are closed, killed and frozen and
// their store fails: every thread comes to rest, with a consistent log. Timing matters: a seed
// repeats the same actions, but not always the same failure.

const action: fc.Arbitrary<Action> = fc.record({
  do: fc.constantFrom(...(Object.keys(actions) as (keyof typeof actions)[])),
  slot: fc.nat(1),
  thread: fc.nat(5),
  n: fc.nat(1000),
})

const conditions: fc.Arbitrary<Conditions> = fc.record({
  paceMs: fc.nat(1),
  flushMs: fc.nat(2),
  compacts: fc.boolean(),
  fault: fc.constantFrom('none', 'cuts', 'overflow'),
  turns: fc.array(fc.nat(50), { minLength: 5, maxLength: 8 }),
})

async function play(store: ThreadStore, sequence: readonly Action[], conditions: Conditions): Promise<void> {
  const base = world(store, conditions)
  const active = [base.open(), base.open()]
  const chaos: Chaos = { ...base, active, known: ['t'], readers: [], requests: [], forks: 0, sent: 0 }
  try {
    await store.create({ id: 't', agent: 'helper' })
    await chaos.active[0]?.app.thread('t').send('start')
    for (const { do: name, slot, thread, n } of sequence) {
      const instance = chaos.active[slot] as Chaos['active'][number]
      const id = chaos.known[thread % chaos.known.length]
      await actions[name]({ chaos, slot, instance, thread: instance.app.thread(id), n })
    }
    await check(chaos, { isUndisturbed: !sequence.some((action) => disruptive.test(action.do)) })
  } finally {
    await end(chaos)
  }
  expect(chaos.unexpectedErrors).toEqual([])
}

/** Checks the result after all actions. */
async function check(chaos: Chaos, { isUndisturbed }: { isUndisturbed: boolean }): Promise<void> {
  const { store, instances, requests, ran, readers } = chaos
  for (const { link } of instances) link.thaw()
  const { app } = chaos.open()
  for (const { instance, done } of requests) if (!instance.link.isDead) await within(done, 'an answer')
  const { threads } = await app.threads({ limit: 1000 })
  for (const { id } of threads) {
    await comesToRest(app.thread(id))
    const entries = await store.read(id, { after: 0, limit: 1_000_000 })
    checkLog(entries)
    const split = await store.read(id, { after: 0, limit: 1_000_000, split: true })
    await checkSnapshots(
      split,
      [1, 2, 3, 4].map((n) => ({ to: Math.floor((n * split.length) / 4), isOther: n % 2 === 0 })),
    )
    if (isUndisturbed && chaos.forks === 0) checkRequests(entries, chaos.modelRequests)
    const isReader = (reader: Reader) => reader.thread === id && !reader.isStale
    for (const reader of readers.filter(isReader)) await checkReader(reader, entries)
  }
  const isThere = (id: string) => threads.some((thread) => thread.id === id)
  for (const reader of readers) if (reader.isStale && !isThere(reader.thread)) await checkEnded(reader)
  // A fork continues calls under the idempotency keys of the original thread.
  if (chaos.forks === 0) expect([...ran].flatMap(([key, times]) => (times > 1 ? [key] : []))).toEqual([])
}

/** Approves whatever still waits, until the thread is at rest. */
async function comesToRest(thread: Thread): Promise<void> {
  const isAtRest = async () => {
    const { status, approvals } = await thread.state()
    // A request in the log may have been decided by now.
    for (const { callId, wants } of approvals)
      if (wants) await thread.respond(callId, 'late').catch(expectConflict)
      else await thread.approve(callId, { approved: true }).catch(expectConflict)
    return status === 'idle' && (await thread.info()).status === 'idle'
  }
  await until(isAtRest, async () => {
    const { status } = await thread.info()
    return `${thread.id} to rest: it is ${status}, with ${typesOf((await thread.read()).slice(-12))}`
  })
}

function expectConflict(error: unknown) {
  expect(error).toMatchObject({ code: expect.stringMatching(/conflict|invalid_input/) })
}

function checkLog(entries: readonly Entry[]): void {
  checkNumbers(entries)
  checkRuns(entries)
  const state = emptyThread()
  for (const entry of entries) {
    applyEntry(state, entry)
    if (entry.event.type === 'round-start') expect(findUnpaired(state.run?.history ?? [])).toBeUndefined()
  }
  expect(nextThreadAction(state)).toEqual({ type: 'idle' })
  expect(approvalsOf(state)).toEqual([])
  if (state.run) expect(findUnpaired(messagesOf(state.run))).toBeUndefined()
  checkCalls(entries)
  checkWords(entries)
  const inputs = conversationOf(state).filter(({ role }) => role === 'user')
  expect(inputs).toEqual(shownInputs(entries))
  const messages = inLog(entries)
  if (eventsOf(entries, 'rewind').length > 0) return
  expect(inputs.map((message) => JSON.stringify(message)).sort()).toEqual(messages)
}

/** What a user interface shows, which is folded in another way. */
function shownInputs(entries: readonly Entry[]): UserMessage[] {
  const view = createView()
  for (const entry of entries) applyToView(view, entry)
  const rows = [...view.rows, ...view.waiting]
  return rows.flatMap((row) => (row.kind === 'input' ? [row.message] : []))
}

/** Each run starts after the previous one has ended, and ends once. */
function checkRuns(entries: readonly Entry[]): void {
  let isOpen = false
  for (const { event, seq } of entries) {
    if (event.type === 'run-start') {
      if (event.resumes === undefined) expect(isOpen, `a run starts within another at ${seq}`).toBe(false)
      isOpen = true
    }
    if (event.type === 'run-end') {
      expect(isOpen, `a run ends twice at ${seq}`).toBe(true)
      isOpen = false
    }
  }
  expect(isOpen, 'a run has not ended').toBe(false)
}

/** Every call exists once, and has one result. */
function checkCalls(entries: readonly Entry[]): void {
  for (const type of ['tool-call', 'tool-result'] as const) {
    const ids = eventsOf(entries, type).map(({ callId }) => callId)
    expect([...new Set(ids)]).toEqual(ids)
  }
}

/** No word is missing or repeated in what is left of a round. */
function checkWords(entries: readonly Entry[]): void {
  let text = ''
  for (const { event, seq } of entries) {
    if (event.type === 'round-start' || event.type === 'round-retract') text = ''
    if (event.type !== 'text') continue
    text += event.text
    const isWritten = answers.some((answer) => answer.startsWith(text))
    expect(isWritten, `no answer starts with '${text}', at ${seq}`).toBe(true)
  }
}

/** Every input once, whatever happened to its run. */
function inLog(entries: readonly Entry[]): string[] {
  const inputs = eventsOf(entries, 'input').filter(({ mode }) => mode !== 'correct')
  const messages = inputs.map(({ message }) => JSON.stringify(message)).sort()
  expect([...new Set(messages)]).toEqual(messages)
  return messages
}

/** Every request according to the log is one that the model got. */
function checkRequests(entries: readonly Entry[], modelRequests: ReadonlySet<string>): void {
  const state = emptyThread()
  for (const entry of entries) {
    applyEntry(state, entry)
    if (entry.event.type === 'round-start')
      expect(modelRequests).toContain(JSON.stringify(state.run?.history))
  }
}

/** The reader gets to the end of the log, and has read the same conversation. */
async function checkReader(reader: Reader, log: readonly Entry[]): Promise<void> {
  const { instance, entries, thread } = reader
  const head = log.at(-1)?.seq ?? 0
  const isThere = () => (entries.at(-1)?.seq ?? 0) === head
  await until(
    () => reader.ended || instance.link.isDead || isThere(),
    () => `a reader of ${thread}, at ${entries.at(-1)?.seq} of ${head}`,
  )
  checkNumbers(entries)
  if (isThere()) expect(conversationOf(fold(entries))).toEqual(conversationOf(fold(log)))
  else if (!instance.link.isDead && !instance.closing) expect(String(reader.failure)).toContain(injected)
}

async function checkEnded(reader: Reader): Promise<void> {
  await until(
    () => reader.ended || reader.instance.link.isDead,
    () => `a reader of the deleted thread ${reader.thread} to end`,
  )
  checkNumbers(reader.entries)
}

function fold(entries: readonly Entry[]): ThreadState {
  const state = emptyThread()
  for (const entry of entries) applyEntry(state, entry)
  return state
}

/** Closes everything, including dead apps, so that nothing is left for the next run. */
async function end({ store, instances, readers }: Chaos): Promise<void> {
  for (const { abort } of readers) abort.abort()
  for (const { app, link } of instances) {
    link.thaw()
    link.rejectPending()
    await within(app.close({ graceMs: 0 }), 'an app to close')
  }
  await store.close()
}

const folder = temporaryFolder()
let files = 0

describe.each([
  { name: 'memory', runs: 75, open: () => memoryStore() },
  { name: 'SQLite', runs: 25, open: () => sqliteStore(join(folder, `${++files}.db`)) },
])('over $name', ({ runs, open }) => {
  const sequence = fc.array(action, { minLength: 3, maxLength: 25 })
  const property = fc.asyncProperty(sequence, conditions, (sequence, conditions) =>
    play(open(), sequence, conditions),
  )

  test('threads survive any chaos', { timeout: 10_000 * sized(runs) + 120_000 }, async () => {
    // Without shrinking: each example takes its time to fail, and with other timing it may not. A
    // hang fails with its seed.
    await fc.assert(property, { numRuns: sized(runs), endOnFailure: true, timeout: 60_000 })
  })
})
