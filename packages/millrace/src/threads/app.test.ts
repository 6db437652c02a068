import { afterEach, describe, expect, test } from 'vitest'
import { agent } from '../agent/index.ts'
import { textOf } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { script, scriptedModel } from '../testing/index.ts'
import type { App, AppOptions, ThreadStore } from './index.ts'
import { memoryStore, millrace } from './index.ts'
import {
  answering,
  checkNumbers,
  eventsOf,
  heldTool,
  openStore,
  startApp,
  textIn,
  typesOf,
  untilIdle,
} from './threads.test-kit.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

type Tools = NonNullable<Parameters<typeof agent>[0]['tools']>

function start(
  rounds: Parameters<typeof scriptedModel>[0],
  { tools = [], ...options }: Partial<AppOptions> & { tools?: Tools } = {},
) {
  const model = scriptedModel(rounds)
  const errors: string[] = []
  const app: App = millrace({
    agents: agent({ name: 'helper', model, tools }),
    flushMs: 0,
    onError: (error) => errors.push(error.message),
    ...options,
  })
  open.push({ close: () => app.close({ graceMs: 0 }) })
  return { app, model, errors }
}

function shared(): ThreadStore {
  const store = memoryStore()
  open.push(store)
  return store
}

/** Answers with the number of messages in the request, and the last one. */
const echo = (request: { messages: readonly Parameters<typeof textOf>[0][] }): ScriptRound =>
  `${request.messages.length}: ${textOf(request.messages.at(-1) as Parameters<typeof textOf>[0])}`

test('packing a thread does not delay further messages, and close() waits for it', async () => {
  const store = shared()
  const packed = Promise.withResolvers<void>()
  let packings = 0
  const { app } = start(echo, {
    store: {
      ...store,
      async packDeltas() {
        packings++
        await packed.promise
      },
    },
  })
  const thread = app.thread('t')
  for (const words of ['one', 'two']) {
    await thread.send(words)
    await untilIdle(thread)
  }
  expect(packings).toBe(2)
  expect((await thread.state()).messages).toHaveLength(4)
  let isClosed = false
  const closing = app.close({ graceMs: 0 }).then(() => {
    isClosed = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(isClosed).toBe(false)
  packed.resolve()
  await closing
})

describe('a conversation', () => {
  test('a message is numbered, answered, and readable', async () => {
    const { app } = start(script.text('Hello, you.'))
    const thread = app.thread('greeting')
    expect(await thread.send('Hello')).toBe(1)
    const entries = await untilIdle(thread)
    checkNumbers(entries)
    expect(typesOf(entries)).toEqual(expect.arrayContaining(['input', 'run-start', 'text', 'run-end']))
    expect(textIn(entries)).toBe('Hello, you.')
    expect(await thread.read()).toEqual(expect.arrayContaining([entries[0]]))
    const { messages, status, run, usage } = await thread.state()
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect(status).toBe('idle')
    expect(run?.outcome).toBe('completed')
    expect(usage.inputTokens).toBe(0)
  })

  test('each further message is answered with the whole conversation', async () => {
    const { app, model } = start(echo)
    const thread = app.thread()
    for (const text of ['one', 'two', 'three']) {
      await thread.send(text)
      await untilIdle(thread)
    }
    expect(model.requests.map(({ messages }) => messages.length)).toEqual([1, 3, 5])
    expect((await thread.state()).messages.map(textOf)).toEqual([
      'one',
      '1: one',
      'two',
      '3: two',
      'three',
      '5: three',
    ])
  })

  test('repeating a key does not repeat the input', async () => {
    const { app, model } = start(echo)
    const thread = app.thread()
    const [first, second] = await Promise.all([
      thread.send('once', { key: 'a' }),
      thread.send('once', { key: 'a' }),
    ])
    expect(second).toBe(first)
    await untilIdle(thread)
    expect(await thread.send('once', { key: 'a' })).toBe(first)
    await untilIdle(thread)
    expect(model.requests).toHaveLength(1)
  })

  test('queued messages are answered one by one, in order', async () => {
    const held = heldTool('hold')
    const rounds = (_: unknown, index: number): ScriptRound =>
      index === 0 ? [{ call: 'hold' }] : `answer ${index}`
    const { app } = start(rounds, { tools: [held.tool] })
    const thread = app.thread()
    await thread.send('first')
    await held.startedTimes(1)
    await thread.send('second')
    await thread.send('third')
    held.runs[0]?.release()
    const entries = await untilIdle(thread)
    expect(eventsOf(entries, 'run-start').map(({ inputs }) => inputs?.length)).toEqual([1, 1, 1])
    expect((await thread.state()).messages.filter(({ role }) => role === 'user').map(textOf)).toEqual([
      'first',
      'second',
      'third',
    ])
  })

  test('a steering message reaches the next round of the current run', async () => {
    const held = heldTool('hold')
    const rounds = (request: Parameters<typeof echo>[0], index: number): ScriptRound =>
      index === 0 ? [{ call: 'hold' }] : echo(request)
    const { app } = start(rounds, { tools: [held.tool] })
    const thread = app.thread()
    await thread.send('look it up')
    await held.startedTimes(1)
    const seq = await thread.send('in French', { mode: 'steer' })
    held.runs[0]?.release()
    const entries = await untilIdle(thread)
    expect(eventsOf(entries, 'run-start')).toHaveLength(1)
    expect(eventsOf(entries, 'round-start').at(-1)?.inputs).toEqual([seq])
    expect(textIn(entries)).toBe('4: in French')
  })

  test('an interrupting message ends the run and is answered', async () => {
    const held = heldTool('hold')
    const rounds = (_: unknown, index: number): ScriptRound => (index === 0 ? [{ call: 'hold' }] : 'instead')
    const { app } = start(rounds, { tools: [held.tool] })
    const thread = app.thread()
    await thread.send('a long task')
    await held.startedTimes(1)
    await thread.send('something else', { mode: 'interrupt' })
    const entries = await untilIdle(thread)
    expect(held.runs[0]?.signal.aborted).toBe(true)
    expect(eventsOf(entries, 'run-end').map(({ outcome }) => outcome)).toEqual(['canceled', 'completed'])
    expect(textIn(entries)).toBe('instead')
  })

  test('a stop cancels the run, and what is queued waits for the next message', async () => {
    const held = heldTool('hold')
    const rounds = (request: Parameters<typeof echo>[0], index: number): ScriptRound =>
      index === 0 ? [{ call: 'hold' }] : echo(request)
    const { app } = start(rounds, { tools: [held.tool] })
    const thread = app.thread()
    await thread.send('first')
    await held.startedTimes(1)
    await thread.send('second')
    await thread.stop('enough')
    const stopped = await untilIdle(thread)
    expect(eventsOf(stopped, 'run-end')).toMatchObject([
      { outcome: 'canceled', error: { message: 'enough' } },
    ])
    expect((await thread.state()).queued).toHaveLength(1)
    await thread.send('third')
    const entries = await untilIdle(thread)
    expect(eventsOf(entries, 'run-start').at(-1)?.inputs).toHaveLength(2)
    // first, the call, its result, second, third
    expect(textIn(entries)).toBe('5: third')
  })

  test('stopping an idle thread writes nothing', async () => {
    const { app } = start(script.text('Hi'))
    const thread = app.thread()
    await thread.send('Hello')
    const { seq } = (await untilIdle(thread)).at(-1) as { seq: number }
    await expect.poll(async () => (await thread.info()).status).toBe('idle')
    expect(await thread.stop()).toBe(seq)
    expect((await thread.info()).head).toBe(seq)
  })

  test('a steering message sent before the run starts is part of it', async () => {
    const store = openStore()
    await store.create({ id: 't', agent: 'agent' })
    const send = (content: string, mode: 'queue' | 'steer') =>
      store.signal('t', crypto.randomUUID(), { type: 'input', message: { role: 'user', content }, mode })
    await send('question', 'queue')
    await send('and in short', 'steer')
    const model = scriptedModel(() => 'short')
    const app = startApp({ recoverMs: 20, agents: agent({ model }), store })
    const entries = await untilIdle(app.thread('t'))
    expect(eventsOf(entries, 'run-start')).toHaveLength(1)
    expect(model.requests[0]?.messages).toHaveLength(2)
  })
})

describe('approvals', () => {
  const paying = () => heldTool('pay', { approve: true })
  const rounds = (_: unknown, index: number): ScriptRound => (index === 0 ? [{ call: 'pay' }] : 'settled')

  async function suspended() {
    const store = shared()
    const pay = paying()
    const { app, errors } = start(rounds, { tools: [pay.tool], store })
    const thread = app.thread('till')
    await thread.send('pay')
    await untilIdle(thread)
    const { approvals } = await thread.state()
    return { store, pay, app, thread, errors, callId: approvals[0]?.callId as string }
  }

  test('an approved call runs, and the answer follows', async () => {
    const { thread, pay, callId } = await suspended()
    expect((await thread.state()).status).toBe('waiting')
    await thread.approve(callId, { approved: true })
    await pay.startedTimes(1)
    pay.runs[0]?.release()
    expect(textIn(await untilIdle(thread))).toBe('settled')
  })

  test('the model gets the reason when a call is denied', async () => {
    const { thread, pay, callId } = await suspended()
    await thread.approve(callId, { approved: false, reason: 'too expensive' })
    const entries = await untilIdle(thread)
    expect(eventsOf(entries, 'tool-result')).toMatchObject([{ status: 'denied' }])
    expect(pay.runs).toHaveLength(0)
  })

  test('repeating a decision is fine, a different one is rejected', async () => {
    const { thread, pay, callId } = await suspended()
    const [first, second] = await Promise.all([
      thread.approve(callId, { approved: true }),
      thread.approve(callId, { approved: true }),
    ])
    expect(second).toBe(first)
    await expect(thread.approve(callId, { approved: false })).rejects.toMatchObject({ code: 'conflict' })
    await pay.startedTimes(1)
    pay.runs[0]?.release()
    await untilIdle(thread)
    expect(await thread.approve(callId, { approved: true })).toBe(first)
    expect(pay.runs).toHaveLength(1)
  })

  test('a decision after the run was stopped is rejected', async () => {
    const { thread, pay, callId } = await suspended()
    await thread.stop('never mind')
    await untilIdle(thread)
    await expect(thread.approve(callId, { approved: true })).rejects.toMatchObject({ code: 'conflict' })
    expect(pay.runs).toHaveLength(0)
  })

  test('if a stop and a decision race, the first one in the log counts', async () => {
    for (const order of ['stop first', 'approval first']) {
      const { thread, pay, callId } = await suspended()
      const actions = [() => thread.stop('no'), () => thread.approve(callId, { approved: true })]
      if (order === 'approval first') actions.reverse()
      const results = await Promise.allSettled(actions.map((action) => action()))
      const entries = await untilIdle(thread)
      const accepted = results[order === 'approval first' ? 0 : 1]?.status === 'fulfilled'
      expect(eventsOf(entries, 'run-end').at(-1)?.outcome).toBe('canceled')
      if (!accepted) expect(pay.runs).toHaveLength(0)
      checkNumbers(entries)
    }
  })

  test('a decision about an unknown call is rejected with the ids of those that wait', async () => {
    const { thread, callId } = await suspended()
    await expect(thread.approve('call_99', { approved: true })).rejects.toThrow(callId)
  })

  test('another app resumes the run when the first is gone', async () => {
    const { app, store, callId } = await suspended()
    await app.close({ graceMs: 0 })
    const pay = paying()
    const second = start(() => 'settled', { tools: [pay.tool], store })
    const thread = second.app.thread('till')
    await thread.approve(callId, { approved: true })
    await pay.startedTimes(1)
    pay.runs[0]?.release()
    const entries = await untilIdle(thread)
    expect(textIn(entries)).toBe('settled')
    expect(eventsOf(entries, 'run-start').at(-1)?.resumes).toBeDefined()
  })

  test('a decision that came after a stop is rejected each time', async () => {
    const pay = heldTool('pay', { approve: true })
    const app = startApp({
      recoverMs: 20,
      agents: agent({ model: scriptedModel(() => [{ call: 'pay' }]), tools: [pay.tool] }),
    })
    const thread = app.thread()
    await thread.send('pay')
    await untilIdle(thread)
    const [request] = (await thread.state()).approvals
    const decide = () => thread.approve(request?.callId as string, { approved: true })
    const results = await Promise.allSettled([thread.stop('no'), decide()])
    const again = await decide().then(
      () => 'fulfilled',
      () => 'rejected',
    )
    expect(again).toBe(results[1]?.status)
    await untilIdle(thread)
    expect(pay.runs).toHaveLength(0)
  })
})

describe('handing over', () => {
  test('closing an app lets its tools finish, and another continues from there', async () => {
    const store = shared()
    const held = heldTool('hold')
    const first = start(() => [{ call: 'hold' }], { tools: [held.tool], store })
    const thread = first.app.thread('moving')
    await thread.send('go')
    await held.startedTimes(1)
    const closing = first.app.close({ graceMs: 60_000 })
    held.runs[0]?.release('kept')
    await closing
    const second = start(() => 'continued', { tools: [heldTool('hold').tool], store })
    const entries = await untilIdle(second.app.thread('moving'))
    expect(textIn(entries)).toBe('continued')
    expect(eventsOf(entries, 'tool-result')).toMatchObject([{ status: 'ok' }])
    expect(eventsOf(entries, 'run-start').at(-1)).not.toHaveProperty('losses')
    checkNumbers(entries)
  })

  test('a tool that takes longer is cut off, with an unknown result', async () => {
    const store = shared()
    const held = heldTool('hold')
    const first = start(() => [{ call: 'hold' }], { tools: [held.tool], store })
    await first.app.thread('moving').send('go')
    await held.startedTimes(1)
    await first.app.close({ graceMs: 0 })
    expect(held.runs[0]?.signal.aborted).toBe(true)
    const again = heldTool('hold')
    const second = start(() => 'continued', { tools: [again.tool], store })
    const entries = await untilIdle(second.app.thread('moving'))
    expect(eventsOf(entries, 'tool-result')).toMatchObject([{ status: 'unknown' }])
    expect(again.runs).toHaveLength(0)
  })

  test('a context that never resolves does not block the handover', async () => {
    const store = openStore()
    const app = startApp({
      recoverMs: 20,
      agents: answering('never'),
      store,
      context: () => new Promise(() => {}),
    })
    await app.thread('stuck').send('go')
    await expect.poll(async () => (await app.thread('stuck').info()).status).toBe('running')
    await app.close({ graceMs: 0 })
    const next = startApp({ recoverMs: 20, agents: answering('taken over'), store })
    expect(textIn(await untilIdle(next.thread('stuck')))).toBe('taken over')
  })

  test('a thread handed over with nothing left to do is idle', async () => {
    const store = openStore()
    const held = heldTool('hold')
    const rounds = (_: unknown, index: number): ScriptRound => (index === 0 ? [{ call: 'hold' }] : 'done')
    const app = startApp({
      recoverMs: 20,
      agents: agent({ model: scriptedModel(rounds), tools: [held.tool] }),
      store,
    })
    const thread = app.thread('t')
    await thread.send('go')
    await held.startedTimes(1)
    await thread.stop()
    const closing = app.close({ graceMs: 0 })
    await closing
    const entries = await store.read('t', { after: 0, limit: 1000 })
    if (eventsOf(entries, 'run-end').length > 0) expect((await store.get('t'))?.status).toBe('idle')
    else expect((await store.get('t'))?.status).toBe('queued')
  })
})

test('an error listener that throws is harmless', async () => {
  const store = openStore()
  let broken = true
  const app = startApp({
    recoverMs: 20,
    agents: answering('after all'),
    store: {
      ...store,
      append: (batches) => (broken ? Promise.reject(new Error('no disk')) : store.append(batches)),
    },
    leaseMs: 60,
    onError: () => {
      broken = false
      throw new Error('and no pager')
    },
  })
  await app.thread('t').send('go')
  expect(textIn(await untilIdle(app.thread('t')))).toBe('after all')
})
