import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Entry, Message, ThreadState } from '../protocol/index.ts'
import {
  approvalsOf,
  cancelReason,
  conversationOf,
  isOpen,
  nextThreadAction,
  snapshotOf,
} from '../protocol/index.ts'
import { controlAt } from './control.ts'
import type { SnapshotWrite } from './index.ts'
import { logOf, randomSteps } from './random-log.test-kit.ts'
import type { Turn } from './snapshot.test-kit.ts'
import { checkSnapshots, fold, foldInTurns, stored, tellable } from './snapshot.test-kit.ts'
import type { Snapshot } from './snapshot.ts'
import { headText, messagesBefore, readSnapshot, restore } from './snapshot.ts'
import { readView } from './view.ts'

const turns = fc
  .array(fc.record({ to: fc.nat(120), isOther: fc.boolean() }), { maxLength: 6 })
  .map((turns) => turns.sort((one, other) => one.to - other.to))

test('a thread that goes on from snapshots is the same as one that is folded from its whole log', async () => {
  await fc.assert(
    fc.asyncProperty(randomSteps, turns, async (steps, turns) => {
      await checkSnapshots(logOf(steps), turns)
    }),
    { numRuns: 300 },
  )
})

test('saves in sequence leave the same as one save', async () => {
  await fc.assert(
    fc.asyncProperty(randomSteps, turns, async (steps, turns) => {
      const entries = logOf(steps)
      const end = { to: entries.length, isOther: false }
      const [many, one] = [await foldInTurns(entries, [...turns, end]), await foldInTurns(entries, [end])]
      if (many.last?.thread.head !== one.last?.thread.head || !one.last) return
      const all = { before: one.last.messages, bytes: Number.POSITIVE_INFINITY, least: 0 }
      const [first, second] = [many, one].map(({ log, last }) =>
        messagesBefore(log, last as Snapshot, all, new Map()),
      )
      expect(await first).toEqual(await second)
      expect(await first).toHaveLength(one.last.messages)
      expect({ ...many.last, parts: 0, needed: 0, run: { ...many.last?.run, dropped: 0 } }).toEqual({
        ...one.last,
        parts: 0,
        needed: 0,
        run: { ...one.last.run, dropped: 0 },
      })
    }),
    { numRuns: 100 },
  )
})

test('a save that is cut off anywhere leaves a thread that can be continued', async () => {
  let restored = 0
  await fc.assert(
    fc.asyncProperty(randomSteps, turns, fc.nat(12), async (steps, turns, writes) => {
      const entries = logOf(steps)
      const { log } = await foldInTurns(entries, turns, writes)
      const snapshot = await readSnapshot(log)
      const state = snapshot && (await restore(log, snapshot))
      if (state) expect(tellable(fold(entries.slice(state.head), state))).toEqual(tellable(fold(entries)))
      if (state) restored++
      const { messages } = await readView(log, everything)
      expect(messages).toEqual(conversationOf(fold(entries)))
    }),
    { numRuns: 200 },
  )
  expect(restored).toBeGreaterThan(20)
})

const everything = { bytes: Number.POSITIVE_INFINITY, before: Number.POSITIVE_INFINITY }
const sizeOf = (messages: readonly Message[]) => Buffer.byteLength(JSON.stringify(messages))

test('a view has the end of the conversation that fits, and the rest can be had page by page', async () => {
  await fc.assert(
    fc.asyncProperty(randomSteps, turns, fc.integer({ min: 1, max: 3000 }), async (steps, turns, bytes) => {
      const entries = logOf(steps)
      const { log } = await foldInTurns(entries, turns)
      const whole = fold(entries)
      const messages = conversationOf(whole)
      const read: Message[] = []
      let before = Number.POSITIVE_INFINITY
      do {
        const view = await readView(log, { bytes, before })
        expect({ ...view, messages, earlier: 0 }).toEqual({ ...snapshotOf(whole), earlier: 0 })
        expect(view.messages.length <= 1 || sizeOf(view.messages) <= bytes + 2).toBe(true)
        const start = view.earlier?.messages ?? 0
        // Nothing that would have fit is left out.
        const next = messages.slice(Math.max(0, start - 1), start + view.messages.length)
        if (start > 0) expect(sizeOf(next) + 40 * next.length).toBeGreaterThan(bytes)
        read.unshift(...view.messages)
        before = start
      } while (before > 0)
      expect(read).toEqual(messages)
      expect(await readView(log, { bytes: 0, before: Number.POSITIVE_INFINITY })).toMatchObject({
        messages: [],
        ...(messages.length > 0 && { earlier: { messages: messages.length } }),
      })
    }),
    { numRuns: 200 },
  )
})

test('what a thread has to do is known from its current run alone', async () => {
  const known = (state: ThreadState) => ({
    head: state.head,
    waiting: state.waiting.map(({ seq, mode, held }) => ({ seq, mode, held })),
    action: nextThreadAction(state).type,
    cancel: cancelReason(state),
    approvals: approvalsOf(state),
    answering: state.answering,
    outcome: state.run?.outcome,
    run: state.run?.runId,
    calls: [...(state.run?.calls.keys() ?? [])],
  })
  await fc.assert(
    fc.asyncProperty(randomSteps, fc.nat(), async (steps, n) => {
      const entries = logOf(steps)
      const { store } = await stored(entries)
      const at = n % (entries.length + 1)
      const control = await controlAt({ store, threadId: 't' }, at)
      expect(known(control)).toEqual(known(fold(entries.slice(0, at))))
    }),
    { numRuns: 300 },
  )
})

test('a snapshot that is damaged, or of another version, is not used', async () => {
  const isFit = (log: Entry[]) => {
    const { run } = fold(log)
    return run && !isOpen(run) && run.callIds.size > 0 && log.length > 80
  }
  const logs = fc.sample(randomSteps, { numRuns: 200, seed: 7 }).map(logOf)
  const entries = logs.find(isFit) as Entry[]
  const end: Turn = { to: entries.length, isOther: false }
  const whole = conversationOf(fold(entries))
  const damages: ((snapshot: Snapshot) => SnapshotWrite)[] = [
    ({ parts }) => ({ parts: [[`messages/${parts.messages.length - 1}`, '[]']] }),
    () => ({ parts: [['calls/0', '']] }),
    ({ thread }) => ({ parts: [], head: { seq: thread.head, state: '12\n{}' } }),
    (snapshot) => ({ parts: [], head: { seq: 1, state: headText({ ...snapshot, version: 2 }) } }),
  ]
  for (const damage of damages) {
    const { store, log, last, lease } = await foldInTurns(entries, [end])
    await store.saveSnapshot(lease, damage(last as Snapshot))
    const snapshot = await readSnapshot(log)
    expect(snapshot && (await restore(log, snapshot))).toBeUndefined()
    const view = await readView(log, everything)
    expect(view.messages).toEqual(whole)
  }
})
