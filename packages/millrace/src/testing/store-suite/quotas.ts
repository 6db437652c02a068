import assert from 'node:assert/strict'
import type { RoundEndEvent, RunStartEvent, SummaryEvent } from '../../protocol/index.ts'
import { isMillraceError } from '../../protocol/index.ts'
import type { CallerUsage, Lease, Quotas } from '../../threads/index.ts'
import type { Cases, SuiteStore } from './context.ts'
import { claimed, leaseMs, textDelta, userInput } from './context.ts'

const unlimited: Quotas = {
  runs: Infinity,
  waiting: Infinity,
  storedBytes: Infinity,
  bytesPerMinute: Infinity,
  tokensPerMinute: Infinity,
}

const minuteMs = 60_000

const noUsage: CallerUsage = {
  runs: 0,
  waiting: 0,
  storedBytes: 0,
  bytesThisMinute: 0,
  tokensThisMinute: 0,
}

async function createThread(store: SuiteStore, id: string, caller?: string): Promise<void> {
  assert.equal(await store.create({ id, agent: 'a', ...(caller && { caller }) }), true)
}

/** A thread of a caller with something to do. */
async function runnableThread(store: SuiteStore, id: string, caller?: string): Promise<void> {
  await createThread(store, id, caller)
  await store.signal(id, undefined, userInput('hello'))
}

function runStart(inputs: readonly number[]): RunStartEvent {
  return { type: 'run-start', version: 2, runId: 'r', agent: 'a', input: [], inputs }
}

function roundEnd(inputTokens: number, outputTokens: number): RoundEndEvent {
  return { type: 'round-end', round: 1, model: 'm', finish: 'stop', usage: { inputTokens, outputTokens } }
}

async function rejectsByQuota(
  name: keyof Quotas,
  promise: Promise<unknown>,
  retryAfterMs: number,
): Promise<void> {
  await assert.rejects(promise, (error) => {
    assert.ok(isMillraceError(error), `${error} must be a MillraceError`)
    assert.equal(error.code, 'rate_limit')
    assert.equal(error.retryable, true)
    assert.ok((error.retryAfterMs ?? 0) > 0 && (error.retryAfterMs ?? 0) <= retryAfterMs)
    assert.ok(error.message.includes(name), `'${error.message}' must name the quota ${name}`)
    return true
  })
}

async function waitingOf(store: SuiteStore, caller: string): Promise<number> {
  return (await store.usage(caller)).waiting
}

export const quotaCases: Cases = {
  'a thread counts for its caller, otherwise for its user': async ({ store, other, now, advance }) => {
    advance(minuteMs - (now() % minuteMs))
    assert.deepEqual(await store.usage('ada'), noUsage)
    await store.create({ id: 'by caller', agent: 'a', user: 'bob', caller: 'ada' })
    await store.create({ id: 'by user', agent: 'a', user: 'ada', metadata: { long: 'x'.repeat(1000) } })
    await store.create({ id: 'unowned', agent: 'a' })
    const before = await other.usage('ada')
    assert.ok(before.storedBytes > 1000 && before.storedBytes < 3000)
    assert.deepEqual(before, {
      ...noUsage,
      storedBytes: before.storedBytes,
      bytesThisMinute: before.storedBytes,
    })
    assert.deepEqual(await other.usage('bob'), noUsage)
    const event = userInput('ä'.repeat(1000))
    const { bytes = 0, caller } = (await store.get('by caller')) ?? {}
    assert.deepEqual([caller, (await other.get('by user'))?.caller], ['ada', 'ada'])
    await store.signal('by caller', undefined, event)
    const size = 1000 + JSON.stringify(event).length
    assert.equal((await other.get('by caller'))?.bytes, bytes + size)
    assert.equal((await other.usage('ada')).storedBytes, before.storedBytes + size)
    advance(minuteMs)
    const later = await other.usage('ada')
    assert.deepEqual([later.storedBytes, later.bytesThisMinute], [before.storedBytes + size, 0])
  },

  'appends count bytes, tokens, and messages that a run has read': async ({ store, other, advance }) => {
    await runnableThread(store, 't', 'ada')
    await runnableThread(store, 'u', 'ada')
    await store.signal('t', undefined, userInput('and this'))
    await store.signal('t', undefined, { type: 'stop', reason: 'enough' })
    assert.equal(await waitingOf(other, 'ada'), 3)
    const leases = [await claimed(store, 't', 'worker'), await claimed(other, 'u', 'worker')]
    const summary: SummaryEvent = {
      type: 'summary',
      replaces: 1,
      message: { role: 'user', content: '' },
      usage: { inputTokens: 5 },
    }
    const before = await other.usage('ada')
    assert.equal(before.runs, 2)
    const events = [runStart([1]), roundEnd(100, 20), summary] as const
    await store.append(leases.map((lease) => ({ lease, events })))
    const after = await other.usage('ada')
    assert.deepEqual(
      [after.waiting, after.tokensThisMinute, after.storedBytes - before.storedBytes],
      [1, 250, 2 * events.reduce((sum, event) => sum + JSON.stringify(event).length, 0)],
    )
    await store.append([
      { lease: leases[0] as Lease, events: [{ type: 'round-start', round: 2, model: 'm', inputs: [2] }] },
    ])
    assert.equal(await waitingOf(other, 'ada'), 0)
    // Naming an input twice does not affect other threads.
    await runnableThread(store, 'v', 'ada')
    await store.append([{ lease: leases[0] as Lease, events: [runStart([1, 2])] }])
    assert.equal(await waitingOf(other, 'ada'), 1)
    advance(minuteMs)
    assert.equal((await other.usage('ada')).tokensThisMinute, 0)
  },

  'a rewind waits for a run, which also takes the messages that it dropped': async ({ store, other }) => {
    await runnableThread(store, 't', 'ada')
    await store.signal('t', undefined, userInput('dropped'))
    await store.signal('t', 'rewind', { type: 'rewind', before: 2, keep: 0, answer: true })
    assert.equal(await waitingOf(other, 'ada'), 3)
    // No run waits for it: only a message that nothing has read is dropped.
    await store.signal('t', undefined, { type: 'rewind', before: 2 })
    assert.equal(await waitingOf(other, 'ada'), 3)
    const lease = await claimed(other, 't', 'worker')
    await other.append([{ lease, events: [{ ...runStart([1, 3]), discarded: [2] }] }])
    assert.equal(await waitingOf(store, 'ada'), 0)
  },

  'deleting a thread returns what it used': async ({ store, other, advance }) => {
    await createThread(store, 'kept', 'ada')
    const before = await other.usage('ada')
    await runnableThread(store, 't', 'ada')
    await claimed(store, 't', 'worker')
    const held = await other.usage('ada')
    assert.deepEqual([held.runs, held.waiting], [1, 1])
    await other.delete('t')
    const after = await store.usage('ada')
    assert.deepEqual(after, { ...before, bytesThisMinute: held.bytesThisMinute })
    await store.delete('kept')
    advance(minuteMs)
    await createThread(store, 'new', 'bob')
    assert.deepEqual(await other.usage('ada'), noUsage)
  },

  'a thread created with entries counts as if they had been written': async ({ store, other }) => {
    const entries = [userInput('one'), userInput('two'), runStart([1]), textDelta('x')].map(
      (event, index) => ({
        seq: index + 1,
        at: 1000,
        event,
      }),
    )
    await store.create({ id: 't', agent: 'a', caller: 'ada' }, { entries })
    const { waiting, storedBytes } = await other.usage('ada')
    assert.equal(waiting, 1)
    assert.ok(storedBytes > entries.reduce((sum, { event }) => sum + JSON.stringify(event).length, 0))
  },

  'packing returns bytes': async ({ store, other }) => {
    await runnableThread(store, 't', 'ada')
    const lease = await claimed(store, 't', 'worker')
    await store.append([{ lease, events: Array.from({ length: 500 }, () => textDelta('x')) }])
    const before = await other.usage('ada')
    await store.packDeltas('t', 1000)
    const after = await other.usage('ada')
    assert.ok(after.storedBytes < before.storedBytes - 1000)
    assert.deepEqual({ ...after, storedBytes: 0 }, { ...before, storedBytes: 0 })
    await store.delete('t')
    assert.equal((await other.usage('ada')).storedBytes, 0)
  },

  'no more messages wait than the quota allows': async ({ store, other }) => {
    const quotas = { ...unlimited, waiting: 2 }
    for (const id of ['t', 'u', 'v']) await createThread(store, id, 'ada')
    await createThread(store, 'free')
    await store.signal('t', 'key', userInput('one'), { quotas })
    await other.signal('u', undefined, userInput('two'), { quotas })
    const before = await store.get('v')
    await rejectsByQuota('waiting', store.signal('v', undefined, userInput('three'), { quotas }), minuteMs)
    await rejectsByQuota('waiting', other.signal('t', 'other key', userInput('three'), { quotas }), minuteMs)
    assert.deepEqual(await store.get('v'), before)
    // These write nothing new, or are not limited.
    assert.equal((await other.signal('t', 'key', userInput('one'), { quotas })).repeated, true)
    await store.signal('v', undefined, { type: 'stop', reason: 'enough' })
    await store.signal('free', undefined, userInput('not limited'), { quotas })
    await store.delete('u')
    await store.signal('v', undefined, userInput('now'), { quotas })
  },

  'two processes together do not exceed a quota': async ({ store, other }) => {
    const quotas = { ...unlimited, waiting: 5 }
    await createThread(store, 't', 'ada')
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 ? store : other).signal('t', undefined, userInput(`${index}`), { quotas }),
      ),
    )
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 5)
    assert.equal(await waitingOf(store, 'ada'), 5)
  },

  'nothing is stored beyond the byte quotas': async ({ store, other, now, advance }) => {
    await createThread(store, 't', 'ada')
    const stored = { ...unlimited, storedBytes: 10_000 }
    const minute = { ...unlimited, bytesPerMinute: 10_000 }
    await store.signal('t', undefined, userInput('x'.repeat(10_000)), { quotas: stored })
    const create = (quotas: Quotas) => other.create({ id: 'new', agent: 'a', caller: 'ada' }, { quotas })
    await rejectsByQuota(
      'storedBytes',
      other.signal('t', undefined, userInput('more'), { quotas: stored }),
      minuteMs,
    )
    await rejectsByQuota('storedBytes', create(stored), minuteMs)
    const left = minuteMs - (now() % minuteMs)
    await rejectsByQuota(
      'bytesPerMinute',
      other.signal('t', undefined, userInput('more'), { quotas: minute }),
      left,
    )
    await rejectsByQuota('bytesPerMinute', create(minute), left)
    assert.equal(await other.get('new'), undefined)
    // It exists, so nothing is written.
    assert.equal(await other.create({ id: 't', agent: 'a', caller: 'ada' }, { quotas: stored }), false)
    advance(left)
    await rejectsByQuota('storedBytes', create(stored), minuteMs)
    assert.equal(await create(minute), true)
    await store.signal('t', undefined, userInput('more'), { quotas: minute })
    await store.delete('t')
    await other.signal('new', undefined, userInput('more'), { quotas: stored })
  },

  'no message is accepted once the tokens of a minute are used up': async ({
    store,
    other,
    now,
    advance,
  }) => {
    const quotas = { ...unlimited, tokensPerMinute: 100 }
    await runnableThread(store, 't', 'ada')
    const lease = await claimed(store, 't', 'worker')
    await store.append([{ lease, events: [roundEnd(60, 39)] }])
    await store.signal('t', undefined, userInput('still'), { quotas })
    await store.append([{ lease, events: [roundEnd(1, 0)] }])
    const left = minuteMs - (now() % minuteMs)
    await rejectsByQuota('tokensPerMinute', other.signal('t', undefined, userInput('more'), { quotas }), left)
    advance(left)
    await other.signal('t', undefined, userInput('more'), { quotas })
  },

  'a caller has no more concurrent runs than allowed': async ({ store, other, advance }) => {
    for (const id of ['a1', 'a2', 'a3']) await runnableThread(store, id, 'ada')
    await runnableThread(store, 'b1', 'bob')
    await runnableThread(store, 'free')
    const claims = await Promise.all(
      ['a1', 'a2', 'a3'].map((id, index) =>
        (index % 2 ? store : other).claim(id, 'worker', leaseMs, { perCaller: 2 }),
      ),
    )
    const held = claims.flatMap((claim) => (claim ? [claim.lease] : []))
    assert.equal(held.length, 2)
    assert.equal((await store.usage('ada')).runs, 2)
    const rest = ['a1', 'a2', 'a3'].find((id) => held.every(({ threadId }) => threadId !== id)) as string
    assert.equal(await store.claim(rest, 'worker', leaseMs, { perCaller: 2 }), undefined)
    assert.ok(await store.claim('b1', 'worker', leaseMs, { perCaller: 2 }))
    assert.ok(await store.claim('free', 'worker', leaseMs, { perCaller: 0 }))
    assert.equal(await store.release(held[0] as Lease, { head: 1, status: 'idle' }), 'released')
    assert.ok(await other.claim(rest, 'worker', leaseMs, { perCaller: 2 }))
    // Expired leases do not count as runs.
    advance(leaseMs)
    assert.equal((await store.usage('ada')).runs, 0)
    assert.ok(await store.claim(held[1]?.threadId as string, 'worker', leaseMs, { perCaller: 2 }))
  },

  'callers take turns in the order of runnable threads': async ({ store, other, advance }) => {
    for (const id of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'free1', 'free2', 'c1']) {
      await runnableThread(store, id, { a: 'ada', b: 'bob', c: 'cyd' }[id[0] as string])
      advance(1)
    }
    assert.deepEqual(await other.runnableIds(10, ['a']), [
      ...['a1', 'b1', 'free1', 'c1'],
      ...['a2', 'b2', 'free2'],
      ...['a3', 'a4'],
    ])
    assert.deepEqual(await other.runnableIds(3, ['a']), ['a1', 'b1', 'free1'])
    await store.claim('a1', 'worker', leaseMs)
    await store.claim('a2', 'worker', leaseMs)
    await store.claim('b1', 'worker', leaseMs)
    await store.claim('free1', 'worker', leaseMs)
    assert.deepEqual(await other.runnableIds(10, ['a']), ['free2', 'c1', 'b2', 'a3', 'a4'])
    assert.deepEqual(await other.runnableIds(10, ['a'], { perCaller: 3 }), ['free2', 'c1', 'b2', 'a3'])
    assert.deepEqual(await other.runnableIds(10, ['a'], { perCaller: 2 }), ['free2', 'c1', 'b2'])
    assert.deepEqual(await other.runnableIds(10, ['b'], { perCaller: 2 }), [])
  },
}
