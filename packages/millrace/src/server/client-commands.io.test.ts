import { describe, expect, test } from 'vitest'
import type { Entry, Message } from '../protocol/index.ts'
import { textOf } from '../protocol/index.ts'
import { asker, contiguousText, counter, entriesOf, picker } from '../protocols/protocols.test-kit.ts'
import { byToken, served } from './server.test-kit.ts'

type Ask = ReturnType<typeof served>['ask']

async function idle(ask: Ask, id: string): Promise<Entry[]> {
  return entriesOf((await ask('GET', `/threads/${id}/events?until=idle`)).body)
}

async function conversation(ask: Ask, id: string): Promise<string[]> {
  const { messages } = await (await ask('GET', `/threads/${id}`)).json()
  return messages.map((message: Message) => `${message.role}: ${textOf(message)}`)
}

/** A thread `one` whose agent has answered these messages, one after the other. */
async function answered(ask: Ask, ...messages: string[]): Promise<Entry[]> {
  await ask('POST', '/threads', { body: { id: 'one' } })
  for (const message of messages) {
    await ask('POST', '/threads/one/messages', { body: { message } })
    await idle(ask, 'one')
  }
  return idle(ask, 'one')
}

function numberOf(entries: readonly Entry[], type: string, nth = 1): number {
  return entries.filter(({ event }) => event.type === type)[nth - 1]?.seq ?? 0
}

async function problemOf(response: Promise<Response>): Promise<[status: number, message: string]> {
  const { error } = await (await response).json()
  return [(await response).status, error.message]
}

describe('a call that a client runs', () => {
  async function waiting() {
    const given = served(picker())
    await answered(given.ask, 'Pick one.')
    const { approvals, status } = await (await given.ask('GET', '/threads/one')).json()
    return { ...given, approvals, status }
  }

  test('waits for its result, which the next round reads', async () => {
    const { ask, approvals, status } = await waiting()
    expect(status).toBe('waiting')
    expect(approvals).toMatchObject([{ callId: 'call_1', name: 'pick_color', wants: 'result' }])
    const response = await ask('POST', '/threads/one/calls/call_1/result', {
      body: { output: { color: 'red' } },
    })
    expect(response.status).toBe(202)
    const entries = await idle(ask, 'one')
    expect(entries.find(({ seq }) => seq === numberOf(entries, 'approval'))?.event).toMatchObject({
      approved: true,
      output: [{ type: 'json', value: { color: 'red' } }],
    })
    expect(contiguousText(entries)).toBe('It is [{"type":"json","value":{"color":"red"}}].')
  })

  test('takes several parts and errors, and the first result counts', async () => {
    const { ask } = await waiting()
    const content = [
      { type: 'text', text: 'red' },
      { type: 'image', url: 'https://example.org/red.png' },
    ]
    const path = '/threads/one/calls/call_1/result'
    const first = await (await ask('POST', path, { body: { content, isError: true } })).json()
    const entries = await idle(ask, 'one')
    const again = await ask('POST', path, { body: { output: 'blue' } })
    expect(again.status).toBe(202)
    expect((await again.json()).seq).toBeGreaterThanOrEqual(first.seq)
    expect(await idle(ask, 'one')).toEqual(entries)
    expect(entries.find(({ event }) => event.type === 'tool-result')?.event).toMatchObject({
      output: content,
      isError: true,
    })
  })

  test('can be denied', async () => {
    const { ask } = await waiting()
    await ask('POST', '/threads/one/approvals/call_1', { body: { approved: false, reason: 'no client' } })
    expect(contiguousText(await idle(ask, 'one'))).toContain('no client')
  })

  test('rejects a result that is incomplete or for another call', async () => {
    const { ask } = await waiting()
    const result = (call: string, body: object) =>
      problemOf(ask('POST', `/threads/one/calls/${call}/result`, { body }))
    for (const body of [{}, { output: 'a', content: [] }])
      expect(await result('call_1', body)).toEqual([400, expect.stringMatching(/either.*output.*content/)])
    expect(await result('call_1', { output: 1, isError: 'no' })).toEqual([
      400,
      expect.stringContaining('isError'),
    ])
    expect(await result('call_1', { content: [{ type: 'video' }] })).toEqual([
      400,
      expect.stringContaining('type'),
    ])
    expect(await result('call_9', { output: 1 })).toEqual([400, expect.stringContaining("'call_9'")])
    const other = served(asker())
    await answered(other.ask, 'Cut it.')
    const approval = other.ask('POST', '/threads/one/calls/call_1/result', { body: { output: 1 } })
    expect(await problemOf(approval)).toEqual([400, expect.stringContaining('waits for a decision')])
  })

  test('belongs to the owner of its thread', async () => {
    const { ask } = served(picker(), { auth: byToken })
    const { id } = await (await ask('POST', '/threads', { as: 'ann' })).json()
    await ask('POST', `/threads/${id}/messages`, { body: { message: 'Pick.' }, as: 'ann' })
    for (const [path, body] of [
      ['calls/call_1/result', { output: 'red' }],
      ['rewind', { before: 1 }],
    ] as const)
      expect((await ask('POST', `/threads/${id}/${path}`, { body, as: 'bob' })).status).toBe(404)
  })
})

describe('a rewind', () => {
  test('answers again, and a retry with the same key does nothing', async () => {
    const { ask } = served(counter())
    const entries = await answered(ask, 'Well?')
    const body = { before: numberOf(entries, 'run-start'), key: 'k' }
    const { seq } = await (await ask('POST', '/threads/one/rewind', { body })).json()
    await idle(ask, 'one')
    const again = await ask('POST', '/threads/one/rewind', {
      body: { before: body.before },
      headers: { 'idempotency-key': 'k' },
    })
    expect(await again.json()).toEqual({ seq })
    expect(await conversation(ask, 'one')).toEqual(['user: Well?', expect.stringMatching(/Answer 2 to 1 /)])
    const differs = ask('POST', '/threads/one/rewind', { body, headers: { 'idempotency-key': 'other' } })
    expect(await problemOf(differs)).toEqual([400, expect.stringContaining('idempotency-key')])
  })

  test('replaces a message, and can be undone', async () => {
    const { ask } = served(counter())
    const entries = await answered(ask, 'One', 'Two')
    const before = numberOf(entries, 'input', 2)
    const { seq } = await (await ask('POST', '/threads/one/rewind', { body: { before } })).json()
    await ask('POST', '/threads/one/messages', { body: { message: 'Another two' } })
    await idle(ask, 'one')
    const edited = await conversation(ask, 'one')
    expect(edited).toEqual([
      'user: One',
      expect.stringContaining('Answer 1'),
      'user: Another two',
      expect.stringContaining('Answer 3'),
    ])
    await ask('POST', '/threads/one/rewind', { body: { before: seq } })
    expect((await conversation(ask, 'one')).slice(2)).toEqual([
      'user: Two',
      expect.stringContaining('Answer 2'),
    ])
  })

  test('streams the new answer to a client that accepts events', async () => {
    const { ask } = served(counter())
    const before = numberOf(await answered(ask, 'Well?'), 'run-start')
    const headers = { accept: 'text/event-stream' }
    const response = await ask('POST', '/threads/one/rewind', { body: { before }, headers })
    const entries = await entriesOf(response.body)
    expect(entries[0]?.event).toMatchObject({ type: 'rewind', before })
    expect(entries.at(-1)?.event).toMatchObject({ type: 'run-end', outcome: 'completed' })
  })

  test('to an entry that is no such place is rejected, with an example', async () => {
    const { ask } = served(counter())
    const entries = await answered(ask, 'Well?')
    for (const before of [numberOf(entries, 'run-end'), 99])
      expect(await problemOf(ask('POST', '/threads/one/rewind', { body: { before } }))).toEqual([
        400,
        expect.stringContaining(`such as ${numberOf(entries, 'run-start')}`),
      ])
    expect((await ask('POST', '/threads/none/rewind', { body: { before: 1 } })).status).toBe(404)
  })
})

describe('a thread with a history', () => {
  const history = [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'Hello. What can I do?' },
  ]

  test('is continued, and answered at once if it ends with a message of the user', async () => {
    const { ask } = served(counter())
    await ask('POST', '/threads', { body: { id: 'one', messages: history } })
    expect(await conversation(ask, 'one')).toEqual(['user: Hello', 'assistant: Hello. What can I do?'])
    const messages = [...history, { role: 'user', content: 'Count.' }]
    await ask('POST', '/threads', { body: { id: 'two', messages } })
    await idle(ask, 'two')
    expect((await conversation(ask, 'two')).slice(2)).toEqual([
      'user: Count.',
      expect.stringMatching(/Answer 1 to 3 messages/),
    ])
  })

  test('is not created if a message is invalid', async () => {
    const { ask } = served(counter())
    for (const messages of ['text', [{ role: 'narrator', content: 'Once' }]])
      expect(await problemOf(ask('POST', '/threads', { body: { id: 'one', messages } }))).toEqual([
        400,
        expect.stringContaining('messages'),
      ])
    expect((await ask('GET', '/threads/one')).status).toBe(404)
  })
})

describe('what comes with a message', () => {
  const look = { name: 'look', description: 'Looks', inputSchema: { type: 'object' } }
  const everything = {
    tools: [look],
    toolChoice: 'none',
    system: 'Be brief.',
    settings: { temperature: 0 },
  }
  // Without auth, every caller may inspect and send everything.
  const auth = () => ({ user: 'ann' })
  const [one, two] = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002']
  const all = { clientOptions: ['tools', 'toolChoice', 'system', 'settings', 'output'] } as const

  test('holds for its run, and for one that answers again if it comes with the rewind', async () => {
    const { ask } = served(counter(), all)
    await ask('POST', '/threads', { body: { id: 'one' } })
    await ask('POST', '/threads/one/messages', { body: { message: 'One', request: everything } })
    const entries = await idle(ask, 'one')
    expect(entries[0]?.event).toMatchObject({ type: 'input', request: everything })
    const first = 'Answer 1 to 2 messages: {"tools":["look"],"toolChoice":"none","temperature":0}'
    expect(contiguousText(entries)).toBe(first)
    const before = numberOf(entries, 'run-start')
    await ask('POST', '/threads/one/rewind', { body: { before, request: { tools: [look] } } })
    await idle(ask, 'one')
    expect((await conversation(ask, 'one')).at(-1)).toContain('Answer 2 to 1 messages: {"tools":["look"]}')
    const messages = [{ role: 'user', content: 'Two' }]
    await ask('POST', '/threads', { body: { id: 'two', messages, request: { tools: [look] } } })
    expect(contiguousText(await idle(ask, 'two'))).toContain('{"tools":["look"]}')
  })

  test('is limited to clientOptions: the error names the field and the option', async () => {
    const { ask } = served(counter(), { auth })
    await ask('POST', '/threads', { body: { id: one } })
    const messages = [{ role: 'user', content: 'Two' }]
    for (const [name, value] of [
      ['system', 'Obey me.'],
      ['settings', { headers: { 'x-billing': 'them' } }],
    ])
      for (const [path, body] of [
        [`/threads/${one}/messages`, { message: 'One' }],
        [`/threads/${one}/rewind`, { before: 1 }],
        ['/threads', { messages }],
      ] as const) {
        const response = ask('POST', path, { body: { ...body, request: { [name as string]: value } } })
        const names = new RegExp(`'request.${name}'.*add '${name}' to its option clientOptions`)
        expect(await problemOf(response), `${path} ${name}`).toEqual([400, expect.stringMatching(names)])
      }
    const none = served(counter(), { auth, clientOptions: [] })
    await none.ask('POST', '/threads', { body: { id: one } })
    const body = { message: 'One', request: { tools: [look] } }
    expect((await none.ask('POST', `/threads/${one}/messages`, { body })).status).toBe(400)
  })

  test('never changes the headers or the raw fields of model requests', async () => {
    const { ask } = served(counter(), all)
    await ask('POST', '/threads', { body: { id: 'one' } })
    for (const settings of [{ headers: { authorization: 'mine' } }, { extra: { model: 'larger' } }]) {
      const response = ask('POST', '/threads/one/messages', {
        body: { message: 'One', request: { settings } },
      })
      expect(await problemOf(response)).toEqual([400, expect.stringMatching(/not accepted from clients/)])
    }
  })

  test('is checked before anything is written', async () => {
    const { ask } = served(counter(), all)
    await ask('POST', '/threads', { body: { id: 'one' } })
    for (const [request, problem] of [
      ['tools', 'request'],
      [{ tools: {} }, 'request.tools'],
      [{ tools: [{ name: 'a b', description: '', inputSchema: {} }] }, 'a b'],
      [{ toolChoice: { name: 'nothing' } }, 'nothing'],
      [{ settings: { heat: 1 } }, 'heat'],
      [{ tool: [look] }, "did you mean 'tools'?"],
    ] as const) {
      const response = ask('POST', '/threads/one/messages', { body: { message: 'One', request } })
      expect(await problemOf(response)).toEqual([400, expect.stringContaining(problem)])
    }
    expect(await idle(ask, 'one')).toEqual([])
  })

  test('comes with a result or a decision too, as far as clientOptions allow', async () => {
    const { ask } = served(picker(), { auth, clientOptions: ['system'] })
    await ask('POST', '/threads', { body: { id: one } })
    await ask('POST', `/threads/${one}/messages`, { body: { message: 'Pick' } })
    await idle(ask, one)
    const commands = [
      [`/threads/${one}/calls/call_1/result`, { output: 'red' }],
      [`/threads/${one}/approvals/call_1`, { approved: false }],
    ] as const
    for (const [path, body] of commands) {
      const response = ask('POST', path, { body: { ...body, request: { tools: [look] } } })
      expect(await problemOf(response), path).toEqual([400, expect.stringContaining("'request.tools'")])
    }
    const request = { system: 'Be brief.', metadata: { nth: 1 } }
    const [path, body] = commands[0]
    expect((await ask('POST', path, { body: { ...body, request } })).status).toBe(202)
    const entries = await idle(ask, one)
    expect(entries[numberOf(entries, 'approval') - 1]?.event).toMatchObject({ request })
  })

  test('may always have metadata', async () => {
    const { ask } = served(counter(), { auth, clientOptions: [] })
    await ask('POST', '/threads', { body: { id: one } })
    const request = { metadata: { nth: 1 } }
    await ask('POST', `/threads/${one}/messages`, { body: { message: 'One', request } })
    expect((await idle(ask, one))[0]?.event).toMatchObject({ request })
  })

  test('is limited for each agent, and by the default for agents that are not named', async () => {
    const agents = { open: counter(), closed: counter(), other: counter() }
    const { ask } = served(agents, { auth, clientOptions: { open: ['system'], closed: [] } })
    const ids = { open: one, closed: two, other: crypto.randomUUID() }
    const statusOf = async (agent: keyof typeof ids, request: object) => {
      const messages = [{ role: 'user', content: 'Hi' }]
      const id = ids[agent]
      const created = await ask('POST', '/threads', { body: { id, agent, messages, request } })
      const sent = await ask('POST', `/threads/${id}/messages`, { body: { message: 'Hi', request } })
      return [created.status, sent.status]
    }
    expect(await statusOf('open', { system: 'Be brief.' })).toEqual([201, 202])
    expect(await statusOf('open', { tools: [look] })).toEqual([400, 400])
    expect(await statusOf('other', { tools: [look] })).toEqual([201, 202])
    expect(await statusOf('other', { system: 'Be brief.' })).toEqual([400, 400])
    await ask('POST', '/threads', { body: { id: two, agent: 'closed' } })
    expect(await statusOf('closed', { tools: [look] })).toEqual([400, 400])
    // The first agent is the default.
    const messages = [{ role: 'user', content: 'Hi' }]
    const body = { messages, request: { system: 'Be brief.' } }
    expect((await ask('POST', '/threads', { body })).status).toBe(201)
  })

  test('clientOptions must name options and agents', () => {
    for (const clientOptions of [['replace'], { counter: ['replace'] }, { counter: 'tools' }, ['metadata']])
      expect(() => served(counter(), { clientOptions: clientOptions as never })).toThrow(
        /'clientOptions' must be a list of any of model, tools, system/,
      )
    expect(() => served({ coder: counter() }, { clientOptions: { codre: ['tools'] } })).toThrow(
      "'clientOptions' names the agent 'codre', which does not exist. Did you mean 'coder'?",
    )
  })
})
