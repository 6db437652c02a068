import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { agent, type Entry, memoryStore, millrace, textOf, tool } from '../packages/millrace/src/index.ts'
import { scriptedModel } from '../packages/millrace/src/testing/index.ts'
import { labelOf } from '../packages/millrace/src/threads/label.ts'
import { root } from './root.ts'

// Logs as earlier versions wrote them. These files are never changed: whoever has such a log in a database wants it read.
const versions = [1]

const closing: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const close of closing) await close()
})

test.each(versions)('a log of version %i is read as it was meant, and gone on with', async (version) => {
  const read = (name: string) => readFileSync(join(root, 'test', 'logs', name), 'utf8')
  const entries = read(`version-${version}.jsonl`)
    .trimEnd()
    .split('\n')
    .map((line): Entry => JSON.parse(line))
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    input: z.object({ amount: z.number() }),
    run: ({ amount }) => ({ paid: amount }),
  })
  const store = memoryStore()
  const app = millrace({
    agents: { desk: agent({ model: scriptedModel(['Seven, then.']), tools: [pay] }) },
    store,
  })
  closing.push(async () => {
    await app.close({ graceMs: 0 })
    await store.close()
  })
  const old = { id: 'old', agent: 'desk' }
  await store.create({ ...old, label: labelOf(old, entries) }, { entries })
  await store.compact('old', entries.length)
  const thread = app.thread('old')
  expect(await thread.state()).toMatchObject(JSON.parse(read(`version-${version}.state.json`)))
  expect(await thread.info()).toMatchObject({ title: 'First' })

  const [waiting] = (await thread.state()).approvals
  await thread.approve(waiting?.callId as string, { approved: true })
  for await (const _ of thread.follow({ until: 'idle' }));
  const { messages, run } = await thread.state()
  expect(run?.outcome).toBe('completed')
  expect(textOf(messages.at(-1) as (typeof messages)[number])).toBe('Seven, then.')
})
