import { tool } from 'millrace'
import { client } from 'millrace/client'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Answer, AnswerCall } from './messages.ts'
import type { ThreadHandle } from './thread-handle.ts'
import { idle, openStore, startServer, textsOf } from './thread-store.test-kit.ts'

const locate = tool({
  name: 'locate',
  description: 'Where the user is',
  input: z.object({ exact: z.boolean() }),
})

/** An agent that calls the tool, and then says what came back. */
const desk = {
  tools: [locate],
  answer: (said: string, messages: readonly { role: string; content: unknown }[]) =>
    said ? [{ call: 'locate', input: { exact: true } }] : `Got ${JSON.stringify(messages.at(-1)?.content)}`,
}

const callIn = ({ messages }: ThreadHandle) => (messages[1] as Answer).parts[0] as AnswerCall
const outputIn = (state: ThreadHandle) => callIn(state).result?.output

describe('a tool of the browser', () => {
  test('runs when the model calls it, and the answer continues with its result', async () => {
    const { url } = await startServer(desk)
    const inputs: unknown[] = []
    const locate = (input: { exact: boolean }) => {
      inputs.push(input)
      return { city: 'Bern' }
    }
    const chat = openStore({ url, tools: { locate } })
    await chat.now.send('Where am I?')
    const done = await chat.until(idle)
    expect(inputs).toEqual([{ exact: true }])
    expect(outputIn(done)).toEqual([{ type: 'json', value: { city: 'Bern' } }])
    // It is no question for a person.
    expect(chat.seen.flatMap(({ approvals }) => approvals)).toEqual([])
  })

  test('that fails tells the model why', async () => {
    const { url } = await startServer(desk)
    const chat = openStore({
      url,
      tools: {
        locate() {
          throw new Error('the user said no')
        },
      },
    })
    await chat.now.send('Where am I?')
    const done = await chat.until(idle)
    expect(callIn(done).result).toMatchObject({ isError: true })
    expect(outputIn(done)).toEqual([{ type: 'text', text: 'the user said no' }])
  })

  test('whose output is no JSON tells the model so', async () => {
    const { url } = await startServer(desk)
    const circle: { self?: unknown } = {}
    circle.self = circle
    const chat = openStore({ url, tools: { locate: () => circle } })
    await chat.now.send('Where am I?')
    expect(callIn(await chat.until(idle)).result).toMatchObject({ isError: true })
  })

  // Node has locks since version 24.5.
  test.skipIf(!globalThis.navigator?.locks)('runs once, with several stores on the same thread', async () => {
    const { url } = await startServer(desk)
    const { id } = await client(url).create()
    let count = 0
    const { promise, resolve } = Promise.withResolvers<void>()
    const tools = {
      async locate() {
        count++
        await promise
        return 'Bern'
      },
    }
    const chats = [1, 2, 3].map(() => openStore({ url, id, tools }))
    await chats[0]?.now.send('Where am I?')
    for (const chat of chats) await chat.until((state) => state.status === 'waiting')
    resolve()
    for (const chat of chats) await chat.until(idle)
    const locks = async () => {
      const { held = [], pending = [] } = await navigator.locks.query()
      return held.length + pending.length
    }
    await expect.poll(locks).toBe(0)
    expect(count).toBe(1)
  })

  test('does not run for a call that already has a result', async () => {
    const { url } = await startServer(desk)
    const first = openStore({ url })
    await first.now.send('Where am I?')
    const { id } = await first.until((state) => state.status === 'waiting')
    await first.now.respond(callIn(first.now).callId, 'Basel')
    await first.until(idle)
    let count = 0
    const second = openStore({ url, id, tools: { locate: () => count++ } })
    const done = await second.until(idle)
    expect(outputIn(done)).toEqual([{ type: 'text', text: 'Basel' }])
    expect(count).toBe(0)
  })

  test('runs after a reload if the page was closed before its result', async () => {
    const { url } = await startServer(desk)
    const first = openStore({ url })
    await first.now.send('Where am I?')
    const { id } = await first.until((state) => state.status === 'waiting')
    const second = openStore({ url, id, tools: { locate: () => 'Bern' } })
    expect(outputIn(await second.until(idle))).toEqual([{ type: 'text', text: 'Bern' }])
  })

  test('may be added later', async () => {
    const { url } = await startServer(desk)
    const chat = openStore({ url })
    await chat.now.send('Where am I?')
    await chat.until((state) => state.status === 'waiting')
    chat.store.update({ url, tools: { locate: () => 'Bern' } })
    expect(outputIn(await chat.until(idle))).toEqual([{ type: 'text', text: 'Bern' }])
  })

  test('is aborted when its run is stopped', async () => {
    const { url } = await startServer(desk)
    const started = Promise.withResolvers<void>()
    const aborted = Promise.withResolvers<void>()
    const chat = openStore({
      url,
      tools: {
        locate: (_input, { signal }) =>
          new Promise((_, reject) => {
            started.resolve()
            signal.addEventListener('abort', () => {
              aborted.resolve()
              reject(new Error('stopped'))
            })
          }),
      },
    })
    await chat.now.send('Where am I?')
    await started.promise
    await chat.now.stop()
    await aborted.promise
    const done = await chat.until(idle)
    expect(callIn(done).result?.status).toBe('canceled')
    expect(done.error).toBeUndefined()
  })

  test('can come with the message', async () => {
    const { url } = await startServer({ ...desk, tools: [] })
    const inputSchema = { type: 'object', properties: { exact: { type: 'boolean' } } }
    const tools = { locate: { description: 'Where the user is', inputSchema, run: () => 'Bern' } }
    const chat = openStore({ url, tools })
    await chat.now.send('Where am I?')
    const done = await chat.until(idle)
    expect(outputIn(done)).toEqual([{ type: 'text', text: 'Bern' }])
    await chat.now.retry()
    const again = await chat.until((state) => idle(state) && state.messages[1]?.versions?.current === 1)
    expect(outputIn(again)).toEqual([{ type: 'text', text: 'Bern' }])
  })
})

test('a call without a function waits for a component that responds', async () => {
  const { url } = await startServer(desk)
  const chat = openStore({ url })
  await chat.now.send('Where am I?')
  const waiting = await chat.until((state) => state.status === 'waiting')
  const call = callIn(waiting)
  expect(call).toMatchObject({ state: 'asking', requests: [{ wants: 'result', input: { exact: true } }] })
  expect(waiting.approvals).toEqual([])
  await chat.now.respond(call.callId, { city: 'Bern' })
  const done = await chat.until(idle)
  expect(textsOf(done)[1]).toContain('Bern')
})
