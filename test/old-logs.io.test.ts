import { copyFileSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import {
  agent,
  type Entry,
  memoryStore,
  millrace,
  type RunEvent,
  readTranscript,
  type ThreadStore,
  textOf,
  tool,
} from '../packages/millrace/src/index.ts'
import { sqliteStore } from '../packages/millrace/src/log/sqlite.ts'
import { PROTOCOL_VERSION, upgradeEvent } from '../packages/millrace/src/protocol/index.ts'
import { scriptedModel } from '../packages/millrace/src/testing/index.ts'
import { labelOf } from '../packages/millrace/src/threads/label.ts'
import { version1, version1Words } from './logs/version-1-words.ts'
import { root } from './root.ts'

// Files in protocol version 1, written by the last commit that used it. Never change them: users
// have files like these.
const read = (name: string) => readFileSync(join(root, 'test', 'logs', name), 'utf8')
const linesOf = (name: string): Entry[] =>
  read(name)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

const closing: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const close of closing) await close()
})

function appWith(store: ThreadStore) {
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    input: z.object({ amount: z.number() }),
    run: ({ amount }) => ({ paid: amount }),
  })
  const model = scriptedModel(['Paid, then.'])
  const app = millrace({ agents: { desk: agent({ model, tools: [pay] }) }, store })
  closing.push(async () => {
    await app.close({ graceMs: 0 })
    await store.close()
  })
  return { app, model }
}

/** The thread waits for an approval. Approves it, and the run continues. */
async function continueThread(app: ReturnType<typeof appWith>['app']) {
  const thread = app.thread('old')
  const [waiting] = (await thread.state()).approvals
  await thread.approve(waiting?.callId as string, { approved: true })
  for await (const _ of thread.follow({ until: 'idle' }));
  const { messages, run } = await thread.state()
  expect(run?.outcome).toBe('completed')
  expect(textOf(messages.at(-1) as (typeof messages)[number])).toBe('Paid, then.')
}

test('a version 1 log is read and continued', async () => {
  const store = memoryStore()
  const { app } = appWith(store)
  const entries = linesOf('version-1.jsonl').map((entry) => ({ ...entry, event: upgradeEvent(entry.event) }))
  const old = { id: 'old', agent: 'desk' }
  await store.create({ ...old, label: labelOf(old, entries) }, { entries })
  await store.packDeltas('old', entries.length)
  expect(await app.thread('old').state()).toMatchObject(JSON.parse(read('version-1.state.json')))
  expect(await app.thread('old').info()).toMatchObject({ title: 'First' })
  await continueThread(app)
})

test('a SQLite file with version 1 logs is read in version 2 and continued', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'millrace-')), 'old.sqlite')
  copyFileSync(join(root, 'test', 'logs', 'version-1.sqlite'), path)
  const { app, model } = appWith(sqliteStore(path))
  const thread = app.thread('old')
  // Costs were not counted then.
  const cost = { knownUsd: 0, unknown: 7 }
  expect(await thread.state()).toEqual({ ...JSON.parse(read('version-1.sqlite.state.json')), cost })

  const events = (await thread.read()).map(({ event }) => event)
  const { entries } = JSON.parse(read('version-1.export.json')) as { entries: Entry[] }
  expect(events).toHaveLength(entries.length)
  expect(JSON.stringify(events)).not.toMatch(version1Words)
  const of = <Type extends RunEvent['type'] | 'playback'>(type: Type) =>
    events.filter((event): event is Extract<typeof event, { type: Type }> => event.type === type)
  expect(of('run-start').map(({ inputs, version }) => [version, inputs])).toEqual(
    [[1], [8], [22], undefined, [38], [49]].map((inputs) => [PROTOCOL_VERSION, inputs]),
  )
  expect(of('round-start').flatMap(({ inputs = [] }) => inputs)).toEqual([16])
  expect(of('playback')).toMatchObject([{ round: 1, chars: 9 }])
  expect(of('tool-result').map(({ status }) => status)).toEqual(['ok', 'denied', 'canceled'])
  expect(of('run-end').map(({ outcome }) => outcome)).toContain('canceled')

  await continueThread(app)
  expect(textOf(model.requests[0]?.messages[1] as never)).toBe('One. Two.')
})

test('a version 1 transcript is read in version 2', () => {
  const messages = readTranscript(read('version-1.export.json'))
  expect(messages[1]?.content).toEqual([{ type: 'text', text: 'One. Two.', unplayed: ' Three.' }])
})

test('version 1 events of sub-agents and version 1 messages are upgraded, version 2 events stay unchanged', () => {
  const events = linesOf('version-1.jsonl').map(({ event }) => event as RunEvent)
  const start = events.findIndex(({ type }) => type === 'run-start')
  const nested = { type: 'run-end', outcome: version1.canceled, usage: {} }
  expect(upgradeEvent({ type: 'tool-progress', callId: 'c', event: nested } as never)).toEqual({
    type: 'tool-progress',
    callId: 'c',
    event: { ...nested, outcome: 'canceled' },
  })
  const input = [{ role: 'assistant', content: [{ type: 'text', text: 'a', [version1.unplayed]: 'b' }] }]
  const upgraded = upgradeEvent({ ...events[start], input } as never) as Extract<
    RunEvent,
    { type: 'run-start' }
  >
  expect(upgraded).toMatchObject({ inputs: [1], input: [{ content: [{ unplayed: 'b' }] }] })
  expect(upgradeEvent(upgraded)).toEqual(upgraded)
})
