import { memoryStore, tool } from 'millrace'
import { client } from 'millrace/client'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Answer, AnswerCall, SentMessage } from './messages.ts'
import { idle, openStore, startServer, textsOf } from './thread-store.test-kit.ts'

const echo = { answer: (said: string) => `You said ${said}.` }

/** Holds requests to a path, or their responses, back until it is opened. */
function requestGate(path: string, what: 'request' | 'response' = 'request') {
  const { promise, resolve: open } = Promise.withResolvers<void>()
  return {
    open,
    async fetch(url: string, init: RequestInit) {
      if (!url.endsWith(path)) return fetch(url, init)
      if (what === 'request') await promise
      const response = await fetch(url, init)
      await promise
      return response
    },
  }
}

describe('sending', () => {
  test('the first message creates the thread, and is shown before it exists', async () => {
    const { url } = await startServer(echo)
    const created: string[] = []
    const chat = openStore({ url, onCreate: (id) => created.push(id) })
    expect(chat.now).toMatchObject({ id: undefined, status: 'idle', connection: 'closed', messages: [] })
    void chat.now.send('Hello')
    expect(chat.now).toMatchObject({ id: undefined, status: 'queued' })
    expect(chat.now.messages).toMatchObject([{ role: 'user', text: 'Hello', status: 'sending' }])
    const done = await chat.until(idle)
    expect(textsOf(done)).toEqual(['Hello', 'You said Hello.'])
    expect(created).toEqual([done.id])
    expect(done.connection).toBe('open')
  })

  test('a message keeps its key, and is never shown twice', async () => {
    const { url } = await startServer(echo)
    const chat = openStore({ url })
    for (const text of ['One', 'Two', 'Three']) {
      void chat.now.send(text)
      await chat.until((state) => idle(state) && textsOf(state).includes(`You said ${text}.`))
    }
    const keys = new Map<string, Set<string>>()
    for (const { messages } of chat.seen)
      for (const message of messages) {
        if (message.role !== 'user') continue
        expect(messages.filter((one) => one.role === 'user' && one.text === message.text)).toHaveLength(1)
        keys.set(message.text, (keys.get(message.text) ?? new Set()).add(message.key))
      }
    expect([...keys.values()].map(({ size }) => size)).toEqual([1, 1, 1])
    expect(
      chat.seen
        .flatMap(({ messages }) => messages)
        .some((one) => 'status' in one && one.status === 'sending'),
    ).toBe(true)
  })

  test('a message whose entry arrives before the response is shown once', async () => {
    const { url } = await startServer(echo)
    const gate = requestGate('/messages', 'response')
    const chat = openStore({ url, fetch: gate.fetch })
    const sending = chat.now.send('Hello')
    const answered = await chat.until((state) => textsOf(state).includes('You said Hello.'))
    expect(textsOf(answered)).toEqual(['Hello', 'You said Hello.'])
    gate.open()
    await sending
    expect(textsOf(await chat.until(idle))).toEqual(['Hello', 'You said Hello.'])
  })

  test('messages arrive in the order in which they were sent', async () => {
    const { url } = await startServer(echo)
    const { promise, resolve } = Promise.withResolvers<void>()
    let count = 0
    const firstIsSlow = async (address: string, init: RequestInit) => {
      if (address.endsWith('/messages') && ++count === 1) await promise
      return fetch(address, init)
    }
    const chat = openStore({ url, fetch: firstIsSlow })
    const sent = ['a', 'b', 'c', 'd', 'e']
    const sending = sent.map((text) => chat.now.send(text, { mode: 'steer' }))
    await expect.poll(() => count).toBe(1)
    resolve()
    await Promise.all(sending)
    const done = await chat.until((state) => idle(state) && textsOf(state).at(-1)?.includes('e') === true)
    expect(done.messages.flatMap((one) => (one.role === 'user' ? [one.text] : []))).toEqual(sent)
  })

  test('a rejected message says why, and can be sent again or discarded', async () => {
    const { url } = await startServer(echo)
    const chat = openStore({ url })
    await chat.now.send('Hi', { request: { model: 'unknown' } })
    const failed = await chat.until(({ messages }) => messages[0]?.status === 'failed')
    const message = failed.messages[0] as SentMessage
    expect(message.error?.code).toBe('invalid_input')
    expect(failed.status).toBe('idle')
    await chat.now.retry(message)
    const again = await chat.until(({ messages }) => messages[0]?.status === 'failed')
    chat.now.discard(again.messages[0] as SentMessage)
    await chat.until(({ messages }) => messages.length === 0)
    await chat.now.send('Hi')
    expect(textsOf(await chat.until(idle))).toEqual(['Hi', 'You said Hi.'])
  })

  test('an image is shown as the log will have it', async () => {
    const { url } = await startServer(echo)
    const chat = openStore({ url })
    const image = { type: 'image', data: new Uint8Array([1, 2, 255]), mediaType: 'image/png' } as const
    void chat.now.send({ role: 'user', content: [{ type: 'text', text: 'Look' }, image] })
    const shown = chat.now.messages[0] as SentMessage
    const done = await chat.until(idle)
    expect((done.messages[0] as SentMessage).content).toEqual(shown.content)
    expect(shown.content[1]).toMatchObject({ data: 'AQL/' })
  })
})

describe('following', () => {
  test('an existing thread is loaded at once', async () => {
    const { url } = await startServer(echo)
    const thread = await client(url).create()
    for (const text of ['One', 'Two']) {
      const until = await thread.send(text)
      for await (const _ of thread.follow({ until }));
    }
    const chat = openStore({ url, id: thread.id })
    expect(chat.now).toMatchObject({ id: thread.id, status: 'loading', connection: 'connecting' })
    const loaded = await chat.until(({ status }) => status !== 'loading')
    expect(textsOf(loaded)).toEqual(['One', 'You said One.', 'Two', 'You said Two.'])
    await chat.until(({ connection }) => connection === 'open')
  })

  test('what another client sends is shown', async () => {
    const { url } = await startServer(echo)
    const thread = await client(url).create()
    const chat = openStore({ url, id: thread.id })
    await thread.send('From elsewhere')
    expect(textsOf(await chat.until(idle))).toEqual(['From elsewhere', 'You said From elsewhere.'])
  })

  test('a lost connection is reported, and a message that was sent meanwhile arrives later', async () => {
    const store = memoryStore()
    const first = await startServer({ ...echo, store })
    const chat = openStore({ url: first.url })
    await chat.now.send('One')
    await chat.until(idle)
    await first.app.close({ graceMs: 0 })
    await chat.until(({ connection }) => connection === 'reconnecting')
    const sending = chat.now.send('Two')
    await chat.until(({ status }) => status === 'queued')
    await startServer({ ...echo, store, port: first.port })
    await sending
    const done = await chat.until((state) => idle(state) && state.messages.length === 4)
    expect(textsOf(done)).toEqual(['One', 'You said One.', 'Two', 'You said Two.'])
    expect(done).toMatchObject({ connection: 'open', error: undefined })
  })

  test('a thread that does not exist is an error, and so is one that is deleted', async () => {
    const { url } = await startServer(echo)
    const missing = openStore({ url, id: 'missing' })
    const { error, status } = await missing.until(({ connection }) => connection === 'closed')
    expect([error?.code, status]).toEqual(['not_found', 'idle'])
    const thread = await client(url).create()
    const chat = openStore({ url, id: thread.id })
    await chat.until(({ connection }) => connection === 'open')
    await thread.delete()
    const { error: deleted } = await chat.until(({ connection }) => connection === 'closed')
    expect(deleted?.code).toBe('not_found')
  })

  test('another token signs in after the first was rejected', async () => {
    const auth = (request: Request) =>
      request.headers.get('authorization') === 'Bearer right' ? { user: 'ada' } : null
    const { url } = await startServer({ ...echo, auth })
    const thread = await client(url, { token: 'right' }).create()
    const options = { url, id: thread.id }
    const chat = openStore({ ...options, token: 'wrong' })
    expect((await chat.until(({ connection }) => connection === 'closed')).error?.code).toBe('auth')
    chat.store.update({ ...options, token: 'right' })
    const { error } = await chat.until(({ connection }) => connection === 'open')
    expect(error).toBeUndefined()
  })
})

describe('subscribers', () => {
  /** Counts the sockets that are opened and open. */
  function countingSockets() {
    const count = { opened: 0, open: 0 }
    class Counting extends WebSocket {
      constructor(url: string, protocols: string[]) {
        super(url, protocols)
        count.opened++
        count.open++
        this.addEventListener('close', () => void count.open--)
      }
    }
    return { count, WebSocket: Counting }
  }

  test('that leave and return at once, as in StrictMode, share one connection', async () => {
    const { url } = await startServer(echo)
    const { id } = await client(url).create()
    const { count, WebSocket } = countingSockets()
    const requests: string[] = []
    const counting = (address: string, init: RequestInit) => {
      requests.push(address)
      return fetch(address, init)
    }
    const chat = openStore({ url, id, WebSocket, fetch: counting })
    chat.unsubscribe()
    chat.store.subscribe(() => {})
    const unsubscribe = chat.store.subscribe(() => {})
    await expect.poll(() => chat.now.connection).toBe('open')
    expect(count.opened).toBe(1)
    expect(requests).toHaveLength(1)
    unsubscribe()
  })

  test('close the connection when the last one leaves, and continue where they were', async () => {
    const { url } = await startServer(echo)
    const thread = await client(url).create()
    const { count, WebSocket } = countingSockets()
    const chat = openStore({ url, id: thread.id, WebSocket })
    await chat.now.send('One')
    await chat.until(idle)
    chat.unsubscribe()
    await expect.poll(() => count.open).toBe(0)
    await thread.send('Two')
    const unsubscribe = chat.store.subscribe(() => {})
    await expect.poll(() => textsOf(chat.now)).toEqual(['One', 'You said One.', 'Two', 'You said Two.'])
    unsubscribe()
  })
})

describe('a store', () => {
  test('is kept when the thread that it created becomes an option, and replaced for another', async () => {
    const { url } = await startServer(echo)
    const chat = openStore({ url })
    expect(chat.store.fits({ url })).toBe(true)
    await chat.now.send('Hi')
    const { id } = await chat.until(idle)
    expect(chat.store.fits({ url })).toBe(true)
    expect(chat.store.fits({ url, id })).toBe(true)
    expect(chat.store.fits({ url, id: 'other' })).toBe(false)
    expect(chat.store.fits({ url: `${url}/api`, id })).toBe(false)
    chat.store.update({ url, id })
    // A new conversation.
    expect(chat.store.fits({ url })).toBe(false)
  })
})

describe('approvals', () => {
  const refund = tool({
    name: 'refund',
    description: 'Pays back',
    input: z.object({ euros: z.number() }),
    approve: ({ euros }) => `Refund ${euros}?`,
    run: ({ euros }) => `paid ${euros}`,
  })
  const desk = {
    tools: [refund],
    answer: (said: string) => (said ? [{ call: 'refund', input: { euros: 5 } }] : 'Done.'),
  }
  const resultOf = ({ messages }: { messages: readonly unknown[] }) =>
    ((messages.at(-1) as Answer).parts[0] as AnswerCall).result

  test('are approved, with other input', async () => {
    const { url } = await startServer(desk)
    const chat = openStore({ url })
    await chat.now.send('Refund')
    const { approvals, status } = await chat.until((state) => state.status === 'waiting')
    expect(status).toBe('waiting')
    expect(approvals).toMatchObject([{ name: 'refund', input: { euros: 5 }, reason: 'Refund 5?' }])
    await chat.now.approve(approvals[0]?.callId ?? '', { input: { euros: 4 } })
    const done = await chat.until(idle)
    expect(done.approvals).toEqual([])
    expect(resultOf(done)?.output).toEqual([{ type: 'text', text: 'paid 4' }])
  })

  test('are denied, with a reason', async () => {
    const { url } = await startServer(desk)
    const chat = openStore({ url })
    await chat.now.send('Refund')
    const { approvals } = await chat.until((state) => state.status === 'waiting')
    await chat.now.deny(approvals[0]?.callId ?? '', 'too much')
    expect(resultOf(await chat.until(idle))).toMatchObject({ status: 'denied' })
  })

  test('that are decided differently elsewhere are an error, until the next action', async () => {
    const { url } = await startServer(desk)
    const chat = openStore({ url })
    await chat.now.send('Refund')
    const { approvals, id } = await chat.until((state) => state.status === 'waiting')
    const callId = approvals[0]?.callId ?? ''
    await client(url)
      .thread(id ?? '')
      .approve(callId, { approved: true })
    await chat.now.deny(callId)
    expect((await chat.until(({ error }) => error !== undefined)).error?.code).toBe('conflict')
    await chat.now.send('Again')
    await chat.until(({ error }) => error === undefined)
  })
})

describe('a run', () => {
  test('is stopped', async () => {
    const { url } = await startServer({ answer: () => [{ text: 'Well …' }, { hang: true }] })
    const chat = openStore({ url })
    await chat.now.send('Go')
    await chat.until((state) => textsOf(state)[1] === 'Well …')
    await chat.now.stop()
    const { messages } = await chat.until(idle)
    expect(messages[1]?.status).toBe('canceled')
  })

  test('is answered again, and both versions can be shown', async () => {
    let count = 0
    const { url } = await startServer({ answer: () => `Answer ${++count}` })
    const gate = requestGate('/rewind')
    const chat = openStore({ url, fetch: gate.fetch })
    await chat.now.send('Go')
    await chat.until(idle)
    void chat.now.retry()
    // The old answer is hidden at once.
    await chat.until((state) => textsOf(state).length === 1 && state.status === 'queued')
    gate.open()
    const again = await chat.until((state) => idle(state) && state.messages.length === 2)
    expect(textsOf(again)).toEqual(['Go', 'Answer 2'])
    expect(again.messages[1]?.versions).toMatchObject({ current: 1, count: 2 })
    await chat.now.selectVersion(again.messages[1] as Answer, 0)
    const first = await chat.until((state) => textsOf(state)[1] === 'Answer 1')
    expect(first.messages[1]?.versions).toMatchObject({ current: 0, count: 2 })
    await chat.now.selectVersion(first.messages[1] as Answer, 1)
    await chat.until((state) => textsOf(state)[1] === 'Answer 2')
    expect(count).toBe(2)
  })

  test('is replaced by the answer to an edited message', async () => {
    const { url } = await startServer(echo)
    const gate = requestGate('/rewind')
    const chat = openStore({ url, fetch: gate.fetch })
    await chat.now.send('One')
    await chat.until(idle)
    await chat.now.send('Two')
    const two = await chat.until((state) => idle(state) && state.messages.length === 4)
    void chat.now.edit(two.messages[2] as SentMessage, 'Three')
    const shown = await chat.until((state) => textsOf(state).includes('Three'))
    expect(textsOf(shown)).toEqual(['One', 'You said One.', 'Three'])
    gate.open()
    const done = await chat.until(idle)
    expect(textsOf(done)).toEqual(['One', 'You said One.', 'Three', 'You said Three.'])
    expect(done.messages[2]?.versions).toMatchObject({ current: 1, count: 2 })
    // Never two of them, or the old answer below the new question.
    for (const state of chat.seen.slice(chat.seen.indexOf(shown))) expect(textsOf(state)).not.toContain('Two')
  })

  test('that failed can be tried again', async () => {
    let count = 0
    const { url } = await startServer({
      answer: () => (++count > 1 ? 'Now it works.' : [{ error: { code: 'llm_error', message: 'broken' } }]),
    })
    const chat = openStore({ url })
    await chat.now.send('Go')
    const failed = await chat.until(idle)
    expect(failed.messages[1]).toMatchObject({ status: 'failed' })
    await chat.now.retry()
    await chat.until((state) => idle(state) && textsOf(state)[1] === 'Now it works.')
  })
})
