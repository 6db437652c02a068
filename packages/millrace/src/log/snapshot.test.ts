import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isWhole, sized } from '../../../../test/size.ts'
import type { Entry, Message, ThreadState } from '../protocol/index.ts'
import {
  approvalsOf,
  cancelReason,
  conversationOf,
  foldVersion,
  isOpen,
  nextThreadAction,
  snapshotOf,
} from '../protocol/index.ts'
import type { Lease, SnapshotWrite } from '../threads/index.ts'
import { readView } from '../threads/view.ts'
import { controlAt } from './control.ts'
import { logOf, randomSteps } from './random-log.test-kit.ts'
import { saveSnapshot } from './save-snapshot.ts'
import type { Turn } from './snapshot.test-kit.ts'
import {
  checkSnapshots,
  fold,
  foldInTurns,
  keptIn,
  playedIn,
  stored,
  visibleState,
} from './snapshot.test-kit.ts'
import type { Snapshot } from './snapshot.ts'
import { fromSnapshot, headText, messagesBefore, restore } from './snapshot.ts'

const turns = fc
  .array(fc.record({ to: fc.nat(120), isOther: fc.boolean() }), { maxLength: 6 })
  .map((turns) => turns.sort((one, other) => one.to - other.to))

test('a thread continued from snapshots equals one folded from its whole log', async () => {
  await fc.assert(
    fc.asyncProperty(randomSteps, turns, async (steps, turns) => {
      await checkSnapshots(logOf(steps), turns)
    }),
    { numRuns: sized(300) },
  )
})

type Step = readonly [Parameters<typeof logOf>[0][number]['kind'], number?]
const logFrom = (steps: readonly Step[]) => logOf(steps.map(([kind, n = 0]) => ({ kind, n })))
/** A run whose answer is text. */
const answered = (n: number): Step[] => [
  ['input', n],
  ['start'],
  ['round'],
  ['words', n],
  ['roundEnd'],
  ['end', 1],
]

test('a summary that is made after a rewind, and replaces what the rewind keeps, is undone', async () => {
  const summarized: Step[] = [['input', 9], ['start'], ['summary', 3], ...answered(12).slice(2)]
  const before = [...answered(3), ...answered(6), ...summarized, ['input', 15], ['start']] as Step[]
  const after: Step[] = [['round'], ['words', 15], ['roundEnd'], ['rewind', 14], ['summary', 2], ['end', 1]]
  const entries = logFrom([...before, ...after])
  expect(entries.slice(-3).map(({ event }) => event)).toMatchObject([
    { type: 'rewind', keep: 5 },
    { type: 'summary', replaces: 3 },
    { type: 'run-end' },
  ])
  const { messages, run } = visibleState(fold(entries))
  // The summary before it, and the question after that.
  expect([messages?.length, run?.summaries]).toEqual([2, 1])
  await checkSnapshots(entries, [{ to: entries.length - after.length, isOther: false }])
})

test('a view has no messages of a snapshot that were replaced since', async () => {
  const before = [3, 6, 9, 12, 15, 18].flatMap(answered)
  // Keeps one message. The next two are long.
  const after: Step[] = [['rewind', 14], ...[27, 21, 24, 30].flatMap(answered)]
  const entries = logFrom([...before, ...after])
  const { log } = await foldInTurns(entries, [{ to: logFrom(before).length, isOther: false }])
  const messages = conversationOf(fold(entries))
  for (let bytes = 50; bytes < 1000; bytes += 50) {
    const read: Message[] = []
    for (let left = messages.length; left > 0; left = messages.length - read.length)
      read.unshift(...(await readView(log, { bytes, before: left })).messages)
    expect(read).toEqual(messages)
  }
})

test('a fork at any number continues from a snapshot of its thread, and saves its own', async () => {
  let restored = 0
  await fc.assert(
    fc.asyncProperty(randomSteps, turns, fc.nat(), async (steps, turns, n) => {
      const entries = logOf(steps)
      const { store } = await foldInTurns(entries, turns)
      const at = n % (entries.length + 1)
      await store.fork('t', at, { id: 'f', agent: 'a' })
      // Only the original thread may change: playback reported later trims answers in its snapshot,
      // never in that of the fork.
      const log = { store, threadId: 'f' }
      const opened = await fromSnapshot(log, async (snapshot) => {
        const state = await restore(log, snapshot)
        return state && { state, snapshot }
      })
      if (!opened) return
      restored++
      const { state, snapshot } = opened
      expect(state.head).toBeLessThanOrEqual(at)
      const before = entries.slice(0, at)
      fold(before.slice(state.head), state)
      expect(visibleState(state)).toEqual(visibleState(fold(before)))
      expect((await readView(log, everything)).messages).toEqual(conversationOf(fold(before)))
      const lease = (await store.claim('f', 'worker', 10_000))?.lease as Lease
      const more = before.slice(snapshot.thread.head)
      const [keep, played] = [keptIn(more), playedIn(more)]
      const saved = await saveSnapshot(state, { store, lease, last: snapshot, keep, played, partChars: 500 })
      if (saved === snapshot) return
      const again = await fromSnapshot(log, (snapshot) => restore(log, snapshot))
      expect(again?.head).toBe(at)
      expect(visibleState(again as ThreadState)).toEqual(visibleState(fold(before)))
    }),
    { numRuns: sized(200) },
  )
  if (isWhole) expect(restored).toBeGreaterThan(10)
})

test('a snapshot of an earlier version is not used', async () => {
  const isSuitable = (log: Entry[]) => {
    const { run, rewinds } = fold(log)
    if (rewinds.length > 0) return false
    return run && !isOpen(run) && log.length > 60
  }
  const entries = fc.sample(randomSteps, { numRuns: 300, seed: 7 }).map(logOf).find(isSuitable) as Entry[]
  const { store, log, last, lease } = await foldInTurns(entries, [{ to: entries.length, isOther: false }])
  const read = () => fromSnapshot(log, async ({ thread }) => thread.head)
  expect(await read()).toBe(entries.length)
  const state = headText({ ...(last as Snapshot), version: foldVersion - 1 })
  await store.saveSnapshot(lease, { parts: [], head: { seq: entries.length, state } })
  expect(await read()).not.toBe(entries.length)
})

test('a round with results too large for a head is not saved, and the previous snapshot stays', async () => {
  const entries = logOf(
    (['input', 'start', 'round', 'call', 'roundEnd', 'result'] as const).map((kind) => ({ kind, n: 1 })),
  )
  const { store, lease } = await stored(entries)
  const played = new Map<string, number>()
  const saveUpTo = (count: number, last?: Snapshot, text = '') => {
    const state = fold(entries.slice(0, count))
    for (const { result } of state.run?.calls.values() ?? [])
      if (result) Object.assign(result, { output: [{ type: 'text', text }] })
    return saveSnapshot(state, { store, lease, last, played })
  }
  const before = (await saveUpTo(5)) as Snapshot
  expect(before.thread.head).toBe(5)
  expect(await saveUpTo(6, before, 'x'.repeat(600_000))).toBe(before)
  expect(await saveUpTo(6, before, 'x'.repeat(1000))).toMatchObject({ thread: { head: 6 } })
})

test('several saves lead to the same result as one', async () => {
  await fc.assert(
    fc.asyncProperty(randomSteps, turns, async (steps, turns) => {
      const entries = logOf(steps)
      const end = { to: entries.length, isOther: false }
      const [many, one] = [await foldInTurns(entries, [...turns, end]), await foldInTurns(entries, [end])]
      if (many.last?.thread.head !== one.last?.thread.head || !one.last) return
      const all = { before: one.last.messages, bytes: Number.POSITIVE_INFINITY, min: 0 }
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
    { numRuns: sized(100) },
  )
})

test('a save interrupted at any point leaves a thread that can be continued', async () => {
  let restored = 0
  await fc.assert(
    fc.asyncProperty(randomSteps, turns, fc.nat(12), async (steps, turns, writes) => {
      const entries = logOf(steps)
      const { log } = await foldInTurns(entries, turns, writes)
      const state = await fromSnapshot(log, (snapshot) => restore(log, snapshot))
      if (state)
        expect(visibleState(fold(entries.slice(state.head), state))).toEqual(visibleState(fold(entries)))
      if (state) restored++
      const { messages } = await readView(log, everything)
      expect(messages).toEqual(conversationOf(fold(entries)))
    }),
    { numRuns: sized(200) },
  )
  if (isWhole) expect(restored).toBeGreaterThan(20)
})

const everything = { bytes: Number.POSITIVE_INFINITY, before: Number.POSITIVE_INFINITY }
const sizeOf = (messages: readonly Message[]) => Buffer.byteLength(JSON.stringify(messages))

test('a view has as much of the end of the conversation as fits, and the rest can be read page by page', async () => {
  await fc.assert(
    fc.asyncProperty(randomSteps, turns, fc.integer({ min: 1, max: 3000 }), async (steps, turns, bytes) => {
      const entries = logOf(steps)
      const { log } = await foldInTurns(entries, turns)
      const whole = fold(entries)
      const messages = conversationOf(whole)
      const isRewound = entries.some(({ event }) => event.type === 'rewind')
      const read: Message[] = []
      let before = Number.POSITIVE_INFINITY
      do {
        const view = await readView(log, { bytes, before })
        expect({ ...view, messages, earlier: 0 }).toEqual({ ...snapshotOf(whole), earlier: 0 })
        expect(view.messages.length <= 1 || sizeOf(view.messages) <= bytes + 2).toBe(true)
        expect(view.messages.length > 0 || messages.length === 0).toBe(true)
        const start = view.earlier?.messages ?? 0
        // Every message that would have fit is included, unless it was replaced while the log was read.
        const next = messages.slice(Math.max(0, start - 1), start + view.messages.length)
        if (start > 0 && !isRewound) expect(sizeOf(next) + 40 * next.length).toBeGreaterThan(bytes)
        read.unshift(...view.messages)
        before = start
      } while (before > 0)
      expect(read).toEqual(messages)
      expect(await readView(log, { bytes: 0, before: Number.POSITIVE_INFINITY })).toMatchObject({
        messages: [],
        ...(messages.length > 0 && { earlier: { messages: messages.length } }),
      })
    }),
    { numRuns: sized(200) },
  )
})

test('the next action of a thread is known from its current run alone', async () => {
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
    { numRuns: sized(300) },
  )
})

test('a damaged snapshot, or one of another version, is not used', async () => {
  const isSuitable = (log: Entry[]) => {
    const { run } = fold(log)
    return run && !(isOpen(run) && run.phase === 'generating') && run.callIds.size > 0 && log.length > 80
  }
  const logs = fc.sample(randomSteps, { numRuns: 200, seed: 7 }).map(logOf)
  const entries = logs.find(isSuitable) as Entry[]
  const end: Turn = { to: entries.length, isOther: false }
  const whole = conversationOf(fold(entries))
  const damages: ((snapshot: Snapshot) => SnapshotWrite)[] = [
    ({ parts }) => ({ parts: [[`messages/${parts.messages.length - 1}`, '[]']] }),
    () => ({ parts: [['calls/0', '']] }),
    ({ thread }) => ({ parts: [], head: { seq: thread.head, state: '12\n{}' } }),
    (snapshot) => ({
      parts: [],
      head: { seq: snapshot.thread.head, state: headText({ ...snapshot, version: 99 }) },
    }),
  ]
  for (const damage of damages) {
    const { store, log, last, lease } = await foldInTurns(entries, [end])
    await store.saveSnapshot(lease, damage(last as Snapshot))
    expect(await fromSnapshot(log, (snapshot) => restore(log, snapshot))).toBeUndefined()
    const view = await readView(log, everything)
    expect(view.messages).toEqual(whole)
  }
})
