import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import type { Agent } from '../../agent/index.ts'
import { agent } from '../../agent/index.ts'
import type { Message, RunRequest } from '../../protocol/index.ts'
import { callers } from '../../server/callers.ts'
import { scriptedModel } from '../../testing/index.ts'
import { eventsOf, heldTool, startApp, textIn, untilIdle } from '../../threads/threads.test-kit.ts'
import { tool } from '../../tools/index.ts'
import { disconnects } from '../disconnect.ts'
import type { Caller } from '../protocol.ts'
import { asker, muser } from '../protocols.test-kit.ts'
import { approvalWords } from './approval-words.ts'
import { conversations } from './conversations.ts'
import type { ModelRequest, Place } from './model-request.ts'

const user = (content: string): Message => ({ role: 'user', content })
const said = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }] })
const called = (callId: string, name = 'locate'): Message => ({
  role: 'assistant',
  content: [{ type: 'tool-call', callId, name, input: {} }],
})
const result = (callId: string, text: string, name = 'locate'): Message => ({
  role: 'tool',
  callId,
  name,
  content: [{ type: 'text', text }],
})

const request: RunRequest = {
  tools: [{ name: 'locate', description: 'Where the user is', inputSchema: { type: 'object' } }],
}

/** Repeats what it is asked, with the number of messages that it has read. */
function parrot(): Agent {
  const model = scriptedModel(({ messages }) => `${messages.length}: ${textOfLast(messages)}`)
  return agent({ name: 'parrot', model })
}

function textOfLast(messages: readonly Message[]): string {
  const content = messages.at(-1)?.content
  return typeof content === 'string'
    ? content
    : (content ?? []).map((part) => ('text' in part ? part.text : '')).join('')
}

/** Calls a tool of the client and one of the server, and then repeats both results. */
function caller(runs: { count: number } = { count: 0 }): Agent {
  const clock = tool({
    name: 'clock',
    description: 'The time',
    input: z.object({}),
    run: () => `noon ${++runs.count}`,
  })
  const model = scriptedModel(({ messages }) => {
    const results = messages.flatMap((one) =>
      one.role === 'tool' ? [`${one.callId} ${textOfLast([one])}`] : [],
    )
    if (messages.at(-1)?.role === 'user' && results.length > 0) return `Then: ${results.join(', ')}`
    if (results.length > 0) return `Results: ${results.join(', ')}`
    return [
      { call: 'locate', id: 'call_1', input: {} },
      { call: 'clock', id: 'call_2', input: {} },
    ]
  })
  return agent({ name: 'caller', model, tools: [clock] })
}

async function start(agents: Agent, { graceMs = 0 } = {}) {
  const app = startApp({ agents })
  const readers = disconnects({ graceMs, onError: () => {} })
  onTestFinished(() => readers.close())
  const clientOptions = () => new Set<keyof RunRequest>(['tools'])
  const { send } = conversations({ clientOptions, readers })
  const options = { app, requestsPerSecond: 1000, failedSignIns: 10, recheckMs: 60_000 }
  const auth = (request: Request) => ({ user: request.headers.get('user') ?? 'unknown' })
  const { identify } = callers({ ...options, auth })
  const signIn = (user: string) => identify(new Request('http://localhost/', { headers: { user } }))
  const me = await signIn('me')

  async function ask(
    messages: readonly Message[],
    more: Partial<ModelRequest> & { readonly as?: Caller } = {},
  ) {
    const { as = me, ...rest } = more
    const place = await send(as, { agent: agents.name, messages, request, ...rest })
    return { place, id: place.thread.id, text: await answerOf(place) }
  }

  return { app, ask, signIn, readers, me }
}

async function answerOf({ thread, start, after }: Place): Promise<string> {
  const entries = await untilIdle(thread, after)
  const end = entries.findIndex(({ seq, event }) => seq > start && event.type === 'run-end')
  return textIn(entries.slice(0, end < 0 ? undefined : end).filter(({ seq }) => seq > start))
}

describe('a client that sends its whole conversation', () => {
  test('continues the thread that has it', async () => {
    const { ask, app } = await start(parrot())
    const first = await ask([user('Hello')])
    // Clients change whitespace.
    const second = await ask([user('Hello'), said(` ${first.text}\n`), user('And?')])
    expect(second).toMatchObject({ id: first.id, text: '3: And?' })
    const third = await ask([user('Hello'), said(first.text), user('And?'), said(second.text), user('So?')])
    expect(third).toMatchObject({ id: first.id, text: '5: So?' })
    expect((await app.threads()).threads).toHaveLength(1)
  })

  test('that the server does not know, or that contradicts the log, gets a thread with its version', async () => {
    const { ask } = await start(parrot())
    const unknown = await ask([user('Hello'), said('Hi!'), user('And?')])
    expect(unknown.text).toBe('3: And?')
    const first = await ask([user('Hi')])
    const edited = await ask([user('Hi'), said('I am the Emperor.'), user('Who are you?')])
    expect(edited.id).not.toBe(first.id)
    expect(edited.text).toBe('3: Who are you?')
    // Both are found from now on.
    const next = await ask([user('Hello'), said('Hi!'), user('And?'), said(unknown.text), user('So?')])
    expect(next.id).toBe(unknown.id)
  })

  test('gets an answer of its own each time, also if two conversations start in the same way', async () => {
    const model = scriptedModel((_, index) => `Answer ${index}`)
    const { ask } = await start(agent({ name: 'counter', model }))
    const [one, two] = [await ask([user('Hi')]), await ask([user('Hi')])]
    expect(one.id).not.toBe(two.id)
    expect((await ask([user('Hi'), said(one.text), user('1')])).id).toBe(one.id)
    expect((await ask([user('Hi'), said(two.text), user('2')])).id).toBe(two.id)
  })

  test('and goes back in it gets a fork: the thread stays as it is', async () => {
    const { ask, app } = await start(parrot())
    const first = await ask([user('Hello')])
    const begun = [user('Hello'), said(first.text)]
    const second = await ask([...begun, user('And?')])
    const { head } = await second.place.thread.info()
    const other = await ask([...begun, user('Or?')])
    expect(other.id).not.toBe(first.id)
    expect(other.text).toBe('3: Or?')
    expect((await second.place.thread.info()).head).toBe(head)
    const both = await Promise.all([ask([...begun, user('x')]), ask([...begun, user('y')])])
    expect(both.map(({ text }) => text)).toEqual(['3: x', '3: y'])
    expect((await app.threads()).threads).toHaveLength(4)
  })

  test('and sends messages after the same answer at once gets an answer to each', async () => {
    const { ask, readers } = await start(parrot())
    const first = await ask([user('Hello')])
    const begun = [user('Hello'), said(first.text)]
    // Called after the thread was read: all requests get that far before one sends.
    vi.spyOn(readers, 'stopNow').mockImplementation(() => new Promise((resolve) => setTimeout(resolve, 20)))
    const words = Array.from({ length: 5 }, (_, index) => `word ${index}`)
    const answers = await Promise.all(words.map((word) => ask([...begun, user(word)])))
    expect(answers.map(({ text }) => text)).toEqual(words.map((word) => `3: ${word}`))
  })

  test('does not find the threads of other users', async () => {
    const { ask, signIn } = await start(parrot())
    const first = await ask([user('Hello')])
    const as = await signIn('another user')
    const second = await ask([user('Hello'), said(first.text), user('And?')], { as })
    expect(second.id).not.toBe(first.id)
    await expect(as.getThread(first.id)).rejects.toThrow('no such thread')
  })

  test('continues after an answer that was stopped, with the part that it has', async () => {
    const { ask, app, readers, me } = await start(muser(), { graceMs: 60_000 })
    const { send } = conversations({ clientOptions: () => new Set(), readers })
    const place = await send(me, { agent: 'muser', messages: [user('Hello')], request: {} })
    for await (const { event } of place.thread.follow({ after: place.after }))
      if (event.type === 'text') break
    const leave = readers.join({ ...place, head: 0 })
    leave({ isCut: true })
    const next = await send(me, {
      agent: 'muser',
      messages: [user('Hello'), said('H'), user('Go on')],
      request: {},
    })
    expect(next.thread.id).toBe(place.thread.id)
    expect(eventsOf(await place.thread.read(), 'stop')).toMatchObject([{ reason: 'the client disconnected' }])
    await app.thread(next.thread.id).stop()
    void ask
  })

  test('may send several messages at once', async () => {
    const { ask } = await start(parrot())
    const first = await ask([user('Hello'), user('you')])
    expect(first.text).toBe('1: Helloyou')
    expect((await ask([user('Hello'), user('you'), said(first.text), user('!')])).id).toBe(first.id)
  })

  test('that has no message of the user is rejected', async () => {
    const { ask } = await start(parrot())
    await expect(ask([said('Hi')])).rejects.toThrow('the last message must be from the user')
  })
})

describe('a client that was cut off', () => {
  /** Says something, runs a tool of the server, and says something else. */
  function grinder(runs: { count: number }): Agent {
    const grind = tool({ name: 'grind', description: 'Grinds', input: z.object({}), run: () => ++runs.count })
    const model = scriptedModel(({ messages }) => {
      if (messages.at(-1)?.role === 'tool') return 'It is ground.'
      return messages.length > 1 ? `${messages.length}` : [{ text: 'I grind.' }, { call: 'grind', input: {} }]
    })
    return agent({ name: 'grinder', model, tools: [grind] })
  }

  test('and sends what was complete gets the rest of the answer', async () => {
    const runs = { count: 0 }
    const { ask } = await start(grinder(runs))
    const first = await ask([user('Grind')])
    const rest = await ask([user('Grind'), said('I grind.')])
    expect(rest).toMatchObject({ id: first.id, text: 'It is ground.' })
    const next = await ask([user('Grind'), said('I grind.'), said('It is ground.'), user('And?')])
    expect(next.id).toBe(first.id)
    expect(runs.count).toBe(1)
  })

  test('and sends what was complete with a new message continues the thread', async () => {
    const runs = { count: 0 }
    const { ask } = await start(grinder(runs))
    const first = await ask([user('Grind')])
    const next = await ask([user('Grind'), said('I grind.'), user('You were cut off: go on')])
    expect(next).toMatchObject({ id: first.id, text: '5' })
    expect(runs.count).toBe(1)
  })

  test('and sends a part that the server does not know gets an answer', async () => {
    const { ask } = await start(parrot())
    expect((await ask([user('Hello'), said('He')])).text).toBe('1: Hello')
  })

  test('and sends the same request right away gets the same answer', async () => {
    const { me, readers } = await start(muser(), { graceMs: 60_000 })
    const { send } = conversations({ clientOptions: () => new Set(), readers })
    const asked = { agent: 'muser', messages: [user('Hello')], request: {} }
    const place = await send(me, asked)
    readers.join({ ...place, head: 0 })({ isCut: true })
    const again = await send(me, asked)
    expect(again).toMatchObject({ start: place.start, thread: { id: place.thread.id } })
    expect(readers.isDue(place.thread.id)).toBe(false)
    const other = await send(me, asked)
    expect(other.thread.id).not.toBe(place.thread.id)
    await Promise.all([place.thread.stop(), other.thread.stop()])
  })

  test('sends results before the run waits for them, and of the calls that it knows', async () => {
    const held = heldTool('wait')
    const model = scriptedModel(({ messages }) => {
      const results = messages.flatMap((one) => (one.role === 'tool' ? [one.callId] : []))
      if (results.length > 0) return `Results: ${results.join(', ')}`
      const calls = ['call_1', 'call_2'].map((id) => ({ call: 'locate', id, input: {} }))
      return [...calls, { call: 'wait', id: 'call_3', input: {} }]
    })
    const { ask, me, app, readers } = await start(agent({ name: 'busy', model, tools: [held.tool] }))
    const { send } = conversations({ clientOptions: () => new Set(['tools']), readers })
    await send(me, { agent: 'busy', messages: [user('Where?')], request })
    await held.startedTimes(1)
    const known = [user('Where?'), called('call_1'), result('call_1', 'Bern')]
    const second = ask(known)
    held.runs[0]?.release()
    // The other call still waits.
    expect((await second).text).toBe('')
    const all = [...known, called('call_2'), result('call_2', 'Basel')]
    expect((await ask(all)).text).toBe('Results: call_1, call_2, call_3')
    expect((await app.threads()).threads).toHaveLength(1)
  })
})

describe("results of the client's tools", () => {
  test('continue the run, with the calls of the server that the client has not seen', async () => {
    const runs = { count: 0 }
    const { ask, app } = await start(caller(runs))
    const first = await ask([user('Where and when?')])
    const asked = [user('Where and when?'), called('call_1')]
    const second = await ask([...asked, result('call_1', 'Bern')])
    expect(second).toMatchObject({ id: first.id, text: 'Results: call_1 Bern, call_2 noon 1' })
    const third = await ask([...asked, result('call_1', 'Bern'), said(second.text), user('And?')])
    expect(third).toMatchObject({ id: first.id, text: 'Then: call_1 Bern, call_2 noon 1' })
    expect((await app.threads()).threads).toHaveLength(1)
    expect(runs.count).toBe(1)
  })

  test('that are sent again get the same response, and no tool runs again', async () => {
    const runs = { count: 0 }
    const { ask } = await start(caller(runs))
    await ask([user('Where?')])
    const messages = [user('Where?'), called('call_1'), result('call_1', 'Bern')]
    const [one, two] = [await ask(messages), await ask(messages)]
    expect(two).toMatchObject({ id: one.id, text: one.text, place: { start: one.place.start } })
    expect(runs.count).toBe(1)
  })

  test('must all be there', async () => {
    const { ask } = await start(caller())
    const first = await ask([user('Where?')])
    const { head } = await first.place.thread.info()
    const named = {
      continues: { found: { thread: first.place.thread, info: await first.place.thread.info() } },
    }
    await expect(ask([result('call_9', '?')], named)).rejects.toThrow(
      'No tool output found for function call call_1.',
    )
    expect((await first.place.thread.info()).head).toBe(head)
  })

  test('of a conversation that the server does not know are answered', async () => {
    const { ask } = await start(parrot())
    const messages = [user('Where?'), called('call_1'), result('call_1', 'Bern')]
    const first = await ask(messages)
    expect(first.text).toBe('3: Bern')
    const next = await ask([...messages, said(first.text), user('And?')])
    expect(next).toMatchObject({ id: first.id, text: '5: And?' })
  })

  test('may come with a message, which the next round reads', async () => {
    const { ask } = await start(caller())
    const first = await ask([user('Where?')])
    const messages = [user('Where?'), called('call_1'), result('call_1', 'Bern'), user('Hurry!')]
    const second = await ask(messages)
    expect(second).toMatchObject({ id: first.id, text: 'Then: call_1 Bern, call_2 noon 1' })
    const third = await ask([...messages, said(second.text), user('And?')])
    expect(third.id).toBe(first.id)
  })

  test('for calls that are closed get an empty answer', async () => {
    const model = scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'It failed.' : [{ call: 'locate', id: 'call_1', raw: '{' }],
    )
    const { ask } = await start(agent({ name: 'clumsy', model }))
    const first = await ask([user('Where?')])
    expect(first.text).toBe('It failed.')
    const shown: Message = {
      role: 'assistant',
      content: [
        { type: 'text', text: 'It failed.' },
        { type: 'tool-call', callId: 'call_1', name: 'locate', input: {} },
      ],
    }
    const second = await ask([user('Where?'), shown, result('call_1', 'what?')])
    expect(second).toMatchObject({ id: first.id, text: '' })
  })

  test('that are not sent, but a new message, close the calls', async () => {
    const { ask } = await start(caller())
    const first = await ask([user('Where?')])
    const second = await ask([user('Where?'), called('call_1'), user('Never mind')])
    expect(second.id).toBe(first.id)
    const entries = await second.place.thread.read()
    expect(eventsOf(entries, 'tool-result').map(({ status }) => status)).toEqual(['ok', 'canceled'])
  })
})

describe('an approval that is asked for in words', () => {
  const asked = (words: string) => [user('Cut it'), said(words)]

  test.each([
    ['approve', 'ok'],
    ['Deny: it is mine', 'denied'],
  ])('is given by the reply "%s"', async (reply, status) => {
    const { ask, app } = await start(asker())
    const first = await ask([user('Cut it')])
    const { approvals } = await first.place.thread.state()
    const messages = [...asked(approvalWords(approvals)), user(reply)]
    const second = await ask(messages)
    expect(second.id).toBe(first.id)
    expect(eventsOf(await second.place.thread.read(), 'tool-result')).toMatchObject([{ status }])
    const third = await ask([...messages, said(second.text), user('Again')])
    expect(third.id).toBe(first.id)
    expect((await app.threads()).threads).toHaveLength(1)
  })

  test.each([
    ['approve', 'completed'],
    ['deny', 'budget'],
  ])('about a budget is a question, answered by "%s"', async (reply, outcome) => {
    const model = scriptedModel([[{ text: 'Hm.' }, { call: 'look' }], 'Found it.'])
    const { ask } = await start(agent({ name: 'spender', model, budget: { rounds: 1, onLimit: 'ask' } }))
    const first = await ask([user('Cut it')])
    const words = approvalWords((await first.place.thread.state()).approvals)
    expect(words).toBe(
      '[Approval needed] The budget of 1 round for this run is spent (1 round). Allow another 1 round? Reply `approve` or `deny`.',
    )
    const second = await ask([user('Cut it'), said(`Hm.${words}`), user(reply)])
    expect((await second.place.thread.state()).run).toMatchObject({ outcome })
  })

  test('is not given by anything else', async () => {
    const { ask } = await start(asker())
    const first = await ask([user('Cut it')])
    const { approvals } = await first.place.thread.state()
    await ask([...asked(approvalWords(approvals)), user('approve of nothing')])
    const results = eventsOf(await first.place.thread.read(), 'tool-result')
    expect(results.some(({ status }) => status === 'ok')).toBe(false)
  })
})

test('results are accepted while a call of the same round waits for approval', async () => {
  const cut = tool({
    name: 'cut',
    description: 'Cuts the rope',
    input: z.object({}),
    approve: true,
    run: () => 'cut',
  })
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? 'Done.'
      : [
          { call: 'locate', id: 'call_1', input: {} },
          { call: 'cut', id: 'call_2', input: {} },
        ],
  )
  const { ask, app } = await start(agent({ name: 'both', model, tools: [cut] }))
  const first = await ask([user('Cut it there')])
  const { approvals } = await first.place.thread.state()
  const words = approvalWords(approvals.filter(({ wants }) => !wants))
  const asked: Message = {
    role: 'assistant',
    content: [
      { type: 'text', text: words },
      { type: 'tool-call', callId: 'call_1', name: 'locate', input: {} },
    ],
  }
  const messages = [user('Cut it there'), asked, result('call_1', 'Bern')]
  const second = await ask(messages)
  expect(await second.place.thread.state()).toMatchObject({
    status: 'waiting',
    approvals: [{ callId: 'call_2' }],
  })
  const third = await ask([...messages, said(words), user('approve')])
  expect(third).toMatchObject({ id: first.id, text: 'Done.' })
  expect((await app.threads()).threads).toHaveLength(1)
})

describe('a request that is sent again', () => {
  test('with the same key gets the same response', async () => {
    const { ask } = await start(parrot())
    const one = await ask([user('Hello')], { retryKey: 'key:1' })
    const two = await ask([user('Hello')], { retryKey: 'key:1' })
    expect(two.place).toMatchObject({ start: one.place.start, thread: { id: one.id } })
    expect((await ask([user('Hello')], { retryKey: 'key:2' })).id).not.toBe(one.id)
    expect((await ask([user('Hello')], { retryKey: '*' })).id).not.toBe('')
  })

  test('is answered again if its run has failed', async () => {
    const model = scriptedModel((_, index) =>
      index === 0 ? [{ error: { retryable: false } }] : 'Here I am.',
    )
    const { ask } = await start(agent({ name: 'late', model }))
    const one = await ask([user('Hello')], { retryKey: 'key:1' })
    const two = await ask([user('Hello')], { retryKey: 'key:1' })
    expect([one.text, two.text]).toEqual(['', 'Here I am.'])
    expect(two.id).toBe(one.id)
  })
})

describe('a client that names its thread', () => {
  test('sends only what is new, and the log is the history', async () => {
    const { ask } = await start(parrot())
    const first = await ask([user('Hello')], { threadName: 'my chat' })
    const second = await ask([user('nonsense'), said('nonsense'), user('And?')], { threadName: 'my chat' })
    expect(second).toMatchObject({ id: first.id, text: '3: And?' })
    const third = await ask([user('So?')], { threadName: first.id })
    expect(third).toMatchObject({ id: first.id, text: '5: So?' })
  })

  test('continues after a response, and the second time gets a fork', async () => {
    const { ask, me } = await start(parrot())
    const first = await ask([user('Hello')])
    const continues = { found: await me.getThread(first.id), after: first.place.start }
    const second = await ask([user('And?')], { continues })
    expect(second).toMatchObject({ id: first.id, text: '3: And?' })
    const third = await ask([user('Or?')], { continues })
    expect(third.text).toBe('3: Or?')
    expect(third.id).not.toBe(first.id)
  })

  test('cannot give it to another agent', async () => {
    const { ask, me } = await start(parrot())
    const first = await ask([user('Hello')])
    const continues = { found: await me.getThread(first.id) }
    await expect(ask([user('And?')], { continues, agent: 'other' })).rejects.toThrow(
      "belongs to the model 'parrot'",
    )
  })
})
