import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SpanStatusCode } from '@opentelemetry/api'
import type { ThreadStore } from 'millrace'
import { agent, memoryStore, millrace } from 'millrace'
import { sqliteStore } from 'millrace/sqlite'
import { scriptedModel } from 'millrace/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { linkTo } from '../../millrace/src/threads/chaos-store.test-kit.ts'
import { eventsOf, heldTool, untilIdle } from '../../millrace/src/threads/threads.test-kit.ts'
import { idOf, measured, only, treeOf } from './otel.test-kit.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

const leaseMs = 60_000

/** Opens stores on one storage, and controls tsuccessor clock. */
interface Storage {
  open(): ThreadStore
  pass(ms: number): void
}

const storages: Record<string, () => Promise<Storage>> = {
  'a store in memory': async () => {
    let time = 1_000_000
    const store = memoryStore({ now: () => time })
    open.push(store)
    return {
      open: () => store,
      pass(ms) {
        time += ms
      },
    }
  },
  SQLite: async () => {
    let time = 1_000_000
    const dir = await mkdtemp(join(tmpdir(), 'millrace-otel-'))
    open.push({ close: () => rm(dir, { recursive: true, force: true }) })
    return {
      open() {
        const store = sqliteStore(join(dir, 'threads.db'), { now: () => time })
        open.push(store)
        return store
      },
      pass(ms) {
        time += ms
      },
    }
  },
}

/** Calls a repeatable tool and one that is not, then answers. */
const caller = () =>
  scriptedModel(
    ({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? 'That is all.'
        : [
            { call: 'once', id: 'o' },
            { call: 'often', id: 'f' },
          ],
    { id: 'gpt' },
  )

/** A process: an app with its own SDK. */
function appOn(store: ThreadStore) {
  const seen = measured()
  const once = heldTool('once')
  const often = heldTool('often', { repeat: 'safe' })
  const tools = [once.tool, often.tool]
  const app = millrace({
    agents: agent({ name: 'desk', model: caller(), tools }),
    store,
    leaseMs,
    recoverMs: 10,
    telemetry: seen.telemetry,
    onError: () => {},
  })
  return { seen, app, once, often }
}

describe.each(Object.entries(storages))('in %s', (_, openStorage) => {
  test('a run of a lost process is resumed with a link to it, and its calls get tsuccessor status', async () => {
    const storage = await openStorage()
    const link = linkTo(storage.open())
    const lost = appOn(link.store)
    open.push({
      async close() {
        link.thaw()
        await lost.app.close({ graceMs: 0 })
      },
    })
    await lost.app.thread('t').send('go')
    await lost.once.startedTimes(1)
    await lost.often.startedTimes(1)
    link.freeze(2 ** 30)
    storage.pass(leaseMs + 1)

    const successor = appOn(storage.open())
    open.push(successor.app)
    const thread = successor.app.thread('t')
    await successor.often.startedTimes(1)
    successor.often.runs[0]?.release()
    const entries = await untilIdle(thread)

    // A killed process ends no spans: only its model call had ended.
    expect(lost.seen.spans().map(({ name }) => name)).toEqual(['chat gpt'])
    const [before] = eventsOf(entries, 'run-start')
    const spans = successor.seen.spans()
    expect(treeOf(spans).toSorted()).toEqual([
      '  chat gpt',
      '  execute_tool often',
      '  execute_tool once',
      'invoke_agent desk',
    ])
    const run = only(spans, 'invoke_agent desk')
    expect(run.links.map(({ context }) => `00-${context.traceId}-${context.spanId}-01`)).toEqual([
      before?.trace,
    ])
    expect(run.parentSpanContext).toBeUndefined()
    expect(run.attributes).toMatchObject({
      'gen_ai.conversation.id': 't',
      'millrace.run.resumes': before?.runId,
      'millrace.run.losses': 1,
      'millrace.run.outcome': 'completed',
    })
    expect(only(spans, 'execute_tool once')).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'gen_ai.tool.call.id': 'o', 'millrace.tool.status': 'unknown', 'error.type': 'unknown' },
    })
    const at = successor.seen.spanLog.indexOf('+ execute_tool once')
    expect(successor.seen.spanLog[at + 1]).toBe('- execute_tool once')
    expect(only(spans, 'execute_tool often').attributes).toMatchObject({
      'gen_ai.tool.call.id': 'f',
      'millrace.tool.status': 'ok',
      'millrace.tool.attempt': 2,
    })
    expect(await successor.seen.points('millrace.takeovers')).toEqual([
      { attributes: { 'gen_ai.agent.name': 'desk' }, value: 1 },
    ])
    expect(await lost.seen.points('millrace.takeovers')).toEqual([])
  })

  test('an app that is closed hands its runs over, which is neither a failure nor a loss', async () => {
    const storage = await openStorage()
    const first = appOn(storage.open())
    await first.app.thread('t').send('go')
    await first.once.startedTimes(1)
    await first.often.startedTimes(1)
    first.once.runs[0]?.release()
    await expect.poll(() => first.seen.spans().map(({ name }) => name)).toContain('execute_tool once')
    await first.app.close({ graceMs: 0 })

    const left = first.seen.spans()
    expect(treeOf(left).toSorted()).toEqual([
      '  chat gpt',
      '  execute_tool often',
      '  execute_tool once',
      'invoke_agent desk',
    ])
    const before = only(left, 'invoke_agent desk')
    expect(before.attributes).toMatchObject({ 'millrace.run.outcome': 'handed-over' })
    expect(only(left, 'execute_tool often').attributes).toMatchObject({
      'millrace.tool.status': 'handed-over',
    })
    for (const { status, attributes } of left) {
      expect(status.code).toBe(SpanStatusCode.UNSET)
      expect(attributes).not.toHaveProperty('error.type')
    }
    expect(await first.seen.points('millrace.runs')).toEqual([
      { attributes: { 'gen_ai.agent.name': 'desk', 'millrace.run.outcome': 'handed-over' }, value: 1 },
    ])

    const second = appOn(storage.open())
    open.push(second.app)
    const thread = second.app.thread('t')
    await second.often.startedTimes(1)
    second.often.runs[0]?.release()
    await untilIdle(thread)
    const after = only(second.seen.spans(), 'invoke_agent desk')
    expect(after.links.map(({ context }) => context.spanId)).toEqual([idOf(before)])
    expect(after.attributes).not.toHaveProperty('millrace.run.losses')
    expect(await second.seen.points('millrace.takeovers')).toEqual([])
  })
})
