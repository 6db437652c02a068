import { describe, expect, test } from 'vitest'
import type { Entry } from '../protocol/index.ts'
import {
  asker,
  delegator,
  entriesOf,
  muser,
  ruled,
  sseFrames,
  story,
  teller,
  until,
  wordsOf,
} from '../protocols/protocols.test-kit.ts'
import { memoryStore } from '../threads/index.ts'
import { serve } from './index.ts'
import { served } from './server.test-kit.ts'

async function idle(ask: ReturnType<typeof served>['ask'], id: string): Promise<Entry[]> {
  const response = await ask('GET', `/threads/${id}/events?until=idle`)
  return entriesOf(response.body)
}

describe('threads', () => {
  test('a thread is made, shown, listed and deleted', async () => {
    const { ask } = served()
    const made = await ask('POST', '/threads', { body: { id: 'one', metadata: { topic: 'mills' } } })
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe('/threads/one')
    expect(await made.json()).toMatchObject({
      id: 'one',
      agent: 'teller',
      metadata: { topic: 'mills' },
      head: 0,
    })
    expect(await (await ask('GET', '/threads/one')).json()).toMatchObject({
      id: 'one',
      messages: [],
      status: 'idle',
    })
    expect(await (await ask('GET', '/threads')).json()).toMatchObject({ threads: [{ id: 'one' }] })
    const gone = await ask('DELETE', '/threads/one')
    expect([gone.status, await gone.text()]).toEqual([204, ''])
    expect((await ask('GET', '/threads/one')).status).toBe(404)
    expect((await ask('DELETE', '/threads/one')).status).toBe(404)
  })

  test('an id is made up if none is chosen, and a body is not needed for that', async () => {
    const { ask } = served()
    const [one, two] = await Promise.all([ask('POST', '/threads'), ask('POST', '/threads', { body: {} })])
    const ids = [(await one.json()).id, (await two.json()).id]
    expect(new Set(ids).size).toBe(2)
    expect((await ask('GET', `/threads/${ids[0]}`)).status).toBe(200)
  })

  test('an id that is taken is a conflict', async () => {
    const { ask } = served()
    await ask('POST', '/threads', { body: { id: 'one' } })
    const again = await ask('POST', '/threads', { body: { id: 'one' } })
    expect(again.status).toBe(409)
    expect(await again.json()).toMatchObject({ error: { code: 'conflict' } })
  })

  test('ids that could not stand in an address are refused', async () => {
    const { ask } = served()
    for (const id of ['.', '..', 'a/b', 'a b', '', 'ä', 'x'.repeat(129)])
      expect((await ask('POST', '/threads', { body: { id } })).status, id).toBe(400)
    expect((await ask('GET', '/threads/a%2Fb')).status).toBe(404)
    expect((await ask('GET', '/threads/%00')).status).toBe(404)
  })

  test('a thread is for the agent it names, and an unknown one is refused by name', async () => {
    const { ask } = served({ teller: teller(), muser: muser() })
    expect(await (await ask('POST', '/threads', { body: { agent: 'muser' } })).json()).toMatchObject({
      agent: 'muser',
    })
    const unknown = await ask('POST', '/threads', { body: { agent: 'tellar' } })
    expect(unknown.status).toBe(400)
    expect((await unknown.json()).error.message).toContain("'teller'")
  })

  test('a list comes in pages and by agent and status', async () => {
    const { ask } = served({ teller: teller(), asker: asker() })
    for (const id of ['a', 'b', 'c']) await ask('POST', '/threads', { body: { id } })
    await ask('POST', '/threads', { body: { id: 'd', agent: 'asker' } })
    await ask('POST', '/threads/d/messages', { body: { message: 'Cut it.' } })
    await idle(ask, 'd')
    const ids: string[] = []
    let next: string | undefined
    do {
      const page = await (
        await ask('GET', `/threads?limit=2&agent=teller${next ? `&cursor=${encodeURIComponent(next)}` : ''}`)
      ).json()
      expect(page.threads.length).toBeLessThanOrEqual(2)
      ids.push(...page.threads.map(({ id }: { id: string }) => id))
      next = page.next
    } while (next)
    expect(ids.sort()).toEqual(['a', 'b', 'c'])
    expect(await (await ask('GET', '/threads?status=waiting')).json()).toMatchObject({
      threads: [{ id: 'd' }],
    })
    for (const query of [
      'limit=0',
      'limit=x',
      'limit=1001',
      'status=asleep',
      'search=',
      `search=${'x'.repeat(257)}`,
    ])
      expect((await ask('GET', `/threads?${query}`)).status, query).toBe(400)
  })

  test('of two apps on one store that create the same id, one gets a conflict', async () => {
    const store = memoryStore()
    const apps = [1, 2].map(() => serve({ agents: teller(), store }))
    const make = (app: (typeof apps)[number]) =>
      app.fetch(
        new Request('http://localhost/threads', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{"id":"same"}',
        }),
      )
    const statuses = (await Promise.all(apps.map(make))).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([201, 409])
    for (const app of apps) await app.close({ graceMs: 0 })
    await store.close()
  })
})

describe('a list', () => {
  test('is searched for words in title, id, agent and metadata, in pages too', async () => {
    const { ask } = served({ teller: teller(), asker: asker() })
    for (const id of ['a', 'b', 'c'])
      await ask('POST', '/threads', { body: { id, metadata: { topic: `Mills & ${id}` } } })
    await ask('POST', '/threads', { body: { id: 'd', agent: 'asker' } })
    await ask('POST', '/threads/d/messages', { body: { message: 'Cut\nthe 100% plank.' } })
    const found = async (search: string, more = '') => {
      const page = await (await ask('GET', `/threads?search=${encodeURIComponent(search)}${more}`)).json()
      return { ids: page.threads.map(({ id }: { id: string }) => id), next: page.next }
    }
    expect(await found('MILLS')).toEqual({ ids: ['c', 'b', 'a'], next: undefined })
    expect(await found('& mills', '&agent=teller')).toMatchObject({ ids: ['c', 'b', 'a'] })
    expect(await found('mills', '&agent=asker')).toMatchObject({ ids: [] })
    expect(await found('100% cut ASKER')).toMatchObject({ ids: ['d'] })
    expect(await found('%')).toMatchObject({ ids: ['d'] })
    const first = await found('mills', '&limit=2')
    expect(first.ids).toEqual(['c', 'b'])
    expect(await found('mills', `&limit=2&cursor=${first.next}`)).toEqual({ ids: ['a'], next: undefined })
    expect(await (await ask('GET', '/threads/d')).json()).toMatchObject({ title: 'Cut the 100% plank.' })
  })

  test('of the agents has their names, that of the default first', async () => {
    const { ask } = served({ teller: teller(), asker: asker() })
    expect(await (await ask('GET', '/agents')).json()).toEqual({
      agents: [{ name: 'teller' }, { name: 'asker' }],
    })
  })
})

describe('messages', () => {
  test('a message is accepted with its number, and answered', async () => {
    const { ask } = served()
    await ask('POST', '/threads', { body: { id: 'one' } })
    const sent = await ask('POST', '/threads/one/messages', { body: { message: 'Tell me.' } })
    expect(sent.status).toBe(202)
    expect(await sent.json()).toEqual({ seq: 1 })
    expect(wordsOf(await idle(ask, 'one'))).toBe(story)
    const view = await (await ask('GET', '/threads/one')).json()
    expect(view.messages.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant'])
    expect(view.run).toMatchObject({ outcome: 'completed' })
  })

  test('who accepts events gets them from the message to the end of its answer', async () => {
    const given = served()
    const { ask } = given
    await ask('POST', '/threads', { body: { id: 'one' } })
    for (const turn of [1, 2]) {
      const response = await ask('POST', '/threads/one/messages', {
        body: { message: { role: 'user', content: [{ type: 'text', text: `Turn ${turn}` }] } },
        headers: { accept: 'text/event-stream' },
      })
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe('text/event-stream')
      const frames = await Array.fromAsync(sseFrames(response.body))
      expect(frames[0]?.lines).toEqual(['retry: 1000'])
      expect(frames.at(-1)).toMatchObject({ event: 'end', data: '{}' })
      const entries = frames.flatMap(({ id, data }) => (id ? [JSON.parse(data ?? '') as Entry] : []))
      expect(entries[0]?.event).toMatchObject({ type: 'input' })
      expect(entries.at(-1)?.event).toMatchObject({ type: 'run-end', outcome: 'completed' })
      expect(wordsOf(entries, (entries[0]?.seq ?? 0) - 1)).toBe(story)
    }
    expect(given.followers()).toBe(0)
  })

  test('the same key twice is one message, whether it comes as a field or as a header', async () => {
    const { ask } = served()
    await ask('POST', '/threads', { body: { id: 'one' } })
    const send = async (body: object, headers = {}) =>
      (await ask('POST', '/threads/one/messages', { body: { message: 'Hi', ...body }, headers })).json()
    const first = await send({ key: 'k1' })
    await idle(ask, 'one')
    expect(await send({ key: 'k1' })).toEqual(first)
    expect(await send({}, { 'idempotency-key': 'k1' })).toEqual(first)
    expect(await send({ key: 'k1' }, { 'idempotency-key': 'k1' })).toEqual(first)
    expect(await send({ key: 'k2' }, { 'idempotency-key': 'k1' })).toMatchObject({
      error: { code: 'invalid_input' },
    })
    expect((await send({})).seq).toBeGreaterThan(first.seq)
  })

  test('a message to a thread that is not there makes none', async () => {
    const { ask } = served()
    expect((await ask('POST', '/threads/none/messages', { body: { message: 'Hi' } })).status).toBe(404)
    expect(await (await ask('GET', '/threads')).json()).toEqual({ threads: [] })
  })

  test('a message that nobody could answer is refused by name', async () => {
    const { ask } = served()
    await ask('POST', '/threads', { body: { id: 'one' } })
    for (const [message, says] of [
      ['', 'empty'],
      [7, 'a number'],
      [{ role: 'assistant', content: 'I' }, 'user message'],
      [{ role: 'user', content: [{ type: 'video' }] }, 'content[0].type'],
    ] as const) {
      const refused = await ask('POST', '/threads/one/messages', { body: { message } })
      expect(refused.status).toBe(400)
      expect((await refused.json()).error.message).toContain(says)
    }
    const mode = await ask('POST', '/threads/one/messages', { body: { message: 'Hi', mode: 'shout' } })
    expect((await mode.json()).error.message).toContain("'interrupt'")
  })

  test('a stop ends what runs', async () => {
    const { ask } = served(muser())
    await ask('POST', '/threads', { body: { id: 'one' } })
    await ask('POST', '/threads/one/messages', { body: { message: 'Think.' } })
    await until(async () => (await (await ask('GET', '/threads/one')).json()).run !== undefined)
    const stopped = await ask('POST', '/threads/one/stop', { body: { reason: 'enough' } })
    expect(stopped.status).toBe(202)
    const entries = await idle(ask, 'one')
    expect(entries.at(-1)?.event).toMatchObject({ type: 'run-end', outcome: 'cancelled' })
    // A body is not needed, and there may be nothing to stop.
    expect((await ask('POST', '/threads/one/stop')).status).toBe(202)
  })
})

describe('approvals', () => {
  test('a call that waits is decided about by its id, and only once', async () => {
    const { ask } = served(asker())
    await ask('POST', '/threads', { body: { id: 'one' } })
    const asked = await ask('POST', '/threads/one/messages', {
      body: { message: 'Cut it.' },
      headers: { accept: 'text/event-stream' },
    })
    expect((await entriesOf(asked.body)).at(-1)?.event).toMatchObject({
      type: 'run-end',
      outcome: 'suspended',
    })
    const [{ callId }] = (await (await ask('GET', '/threads/one')).json()).approvals
    const path = `/threads/one/approvals/${encodeURIComponent(callId)}`
    const decided = await ask('POST', path, { body: { approved: true, input: { where: 'there' } } })
    expect(decided.status).toBe(202)
    const entries = await idle(ask, 'one')
    expect(entries.find(({ event }) => event.type === 'tool-result')?.event).toMatchObject({
      output: [{ text: 'cut there' }],
    })
    const same = await ask('POST', path, { body: { approved: true, input: { where: 'there' } } })
    expect(await same.json()).toEqual(await decided.json())
    expect((await ask('POST', path, { body: { approved: false } })).status).toBe(409)
    expect((await ask('POST', '/threads/one/approvals/call_9', { body: { approved: true } })).status).toBe(
      400,
    )
  })

  test('what is to be remembered is remembered, and what cannot be is refused', async () => {
    const { ask } = served(ruled())
    await ask('POST', '/threads', { body: { id: 'one' } })
    await ask('POST', '/threads/one/messages', { body: { message: 'Tie it.' } })
    await idle(ask, 'one')
    const [request] = (await (await ask('GET', '/threads/one')).json()).approvals
    expect(request).toMatchObject({
      permission: { decision: 'ask', rule: 'otherwise ask' },
      remember: { rules: ['write(here)'], for: ['thread'] },
    })
    const decide = (remember: unknown) =>
      ask('POST', `/threads/one/approvals/${request.callId}`, { body: { approved: true, remember } })
    for (const remember of ['always', 'a while', 7, { rules: ['write'] }, { for: 'thread', rules: ['('] }]) {
      const refused = await decide(remember)
      expect([refused.status, (await refused.json()).error.message]).toEqual([
        400,
        expect.stringContaining('remember'),
      ])
    }
    expect((await decide('thread')).status).toBe(202)
    await idle(ask, 'one')
    await ask('POST', '/threads/one/messages', { body: { message: 'Tie it again.' } })
    const entries = await idle(ask, 'one')
    expect(entries.filter(({ event }) => event.type === 'approval-request')).toHaveLength(1)
    expect(entries.filter(({ event }) => event.type === 'tool-result')).toHaveLength(2)
  })

  test('an id with a slash in it is written %2F', async () => {
    const { ask } = served(delegator())
    await ask('POST', '/threads', { body: { id: 'one' } })
    await ask('POST', '/threads/one/messages', { body: { message: 'Cut it.' } })
    await idle(ask, 'one')
    const [{ callId }] = (await (await ask('GET', '/threads/one')).json()).approvals
    expect(callId).toContain('/')
    const path = `/threads/one/approvals/${encodeURIComponent(callId)}`
    expect((await ask('POST', path, { body: { approved: true } })).status).toBe(202)
    expect(wordsOf(await idle(ask, 'one'))).toContain('It was done.')
  })
})

describe('forks', () => {
  test('a thread is forked at a number', async () => {
    const { ask } = served()
    await ask('POST', '/threads', { body: { id: 'one' } })
    await ask('POST', '/threads/one/messages', { body: { message: 'Tell me.' } })
    await idle(ask, 'one')
    const forked = await ask('POST', '/threads/one/fork', { body: { at: 1, id: 'two' } })
    expect(forked.status).toBe(201)
    expect(await forked.json()).toMatchObject({ id: 'two', forkedFrom: { id: 'one', seq: 1 } })
    expect(wordsOf(await idle(ask, 'two'))).toBe(story)
    expect((await ask('POST', '/threads/one/fork', { body: { at: 1, id: 'two' } })).status).toBe(409)
    expect((await ask('POST', '/threads/one/fork', { body: { at: 9999 } })).status).toBe(400)
    expect((await ask('POST', '/threads/one/fork', { body: {} })).status).toBe(400)
    expect((await ask('POST', '/threads/one/fork', { body: { at: 1, id: '../x' } })).status).toBe(400)
  })
})

describe('events', () => {
  async function told(agent = teller()) {
    const given = served(agent)
    await given.ask('POST', '/threads', { body: { id: 'one' } })
    await given.ask('POST', '/threads/one/messages', { body: { message: 'Tell me.' } })
    return { ...given, entries: await idle(given.ask, 'one') }
  }

  test('begin after any number, and Last-Event-ID knows better than the address', async () => {
    const { ask, entries } = await told()
    const head = entries.at(-1)?.seq ?? 0
    for (const after of [0, 1, 5, head - 1, head]) {
      const byAddress = await entriesOf(
        (await ask('GET', `/threads/one/events?after=${after}&until=idle`)).body,
      )
      wordsOf(byAddress, after)
      expect(byAddress.at(-1)?.seq ?? head).toBe(head)
      const headers = { 'last-event-id': String(after) }
      const byHeader = await entriesOf(
        (await ask('GET', '/threads/one/events?after=3&until=idle', { headers })).body,
      )
      expect(byHeader).toEqual(byAddress)
    }
  })

  test('end at the number of an input too', async () => {
    const { ask } = await told()
    const entries = await entriesOf((await ask('GET', '/threads/one/events?until=1')).body)
    expect(entries.at(-1)?.event.type).toBe('run-end')
  })

  test('come as pages of JSON for those who accept nothing else', async () => {
    const { ask, entries } = await told()
    const headers = { accept: 'application/json' }
    const page = await (await ask('GET', '/threads/one/events?after=1&limit=3', { headers })).json()
    expect(page.entries.length).toBeLessThanOrEqual(3)
    expect(page.entries[0].from ?? page.entries[0].seq).toBe(2)
    expect(page.head).toBe(entries.at(-1)?.seq)
    const both = await ask('GET', '/threads/one/events?until=idle', {
      headers: { accept: 'application/json, text/event-stream' },
    })
    expect(both.headers.get('content-type')).toBe('text/event-stream')
    await both.body?.cancel()
  })

  test('come one by one in a page that is split, as they were first written', async () => {
    const { ask, entries } = await told(teller(story, { paceMs: 1 }))
    const headers = { accept: 'application/json' }
    const page = async (query: string): Promise<Entry[]> =>
      (await (await ask('GET', `/threads/one/events?${query}`, { headers })).json()).entries
    await until(async () => (await page('limit=10000')).some(({ from }) => from !== undefined))
    const split = await page('split=true&limit=10000')
    expect(split.map(({ seq }) => seq)).toEqual(split.map((_, index) => index + 1))
    expect(split.at(-1)?.seq).toBe(entries.at(-1)?.seq)
    expect(split.some(({ from }) => from !== undefined)).toBe(false)
    expect(wordsOf(split)).toBe(story)
    expect(await page('split=false&limit=10000')).toEqual(await page('limit=10000'))
    expect(await page('split=true&after=2&limit=3')).toEqual(split.slice(2, 5))
    for (const query of ['split=maybe', 'limit=10001'])
      expect((await ask('GET', `/threads/one/events?${query}`, { headers })).status, query).toBe(400)
  })

  test('a number that cannot be is refused', async () => {
    const { ask } = await told()
    for (const query of [
      'after=-1',
      'after=x',
      'after=Now',
      'after=',
      'after=1.5',
      'after=100000',
      'until=never',
      'until=0',
    ])
      expect((await ask('GET', `/threads/one/events?${query}`)).status, query).toBe(400)
    const headers = { 'last-event-id': 'abc' }
    expect((await ask('GET', '/threads/one/events', { headers })).status).toBe(400)
  })

  test('asking for the head only follows nothing', async () => {
    const given = await told()
    const response = await given.ask('HEAD', '/threads/one/events')
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    expect(given.followers()).toBe(0)
  })

  test('a socket is not to be had by an ordinary request', async () => {
    const { ask } = await told()
    expect((await ask('GET', '/threads/one/socket')).status).toBe(426)
  })
})

describe('everything else', () => {
  test('is not there', async () => {
    const { ask } = served()
    for (const path of ['/nothing', '/threads/one/nothing', '/threads/'])
      expect(await (await ask('GET', path)).json(), path).toMatchObject({ error: { code: 'not_found' } })
  })

  test('a wrong method is told which would be right', async () => {
    const { ask } = served()
    for (const [method, path, allow] of [
      ['PUT', '/threads', 'POST, GET'],
      ['POST', '/threads/one', 'GET, DELETE'],
      ['GET', '/threads/one/messages', 'POST'],
      ['DELETE', '/threads/one/events', 'GET'],
      ['PATCH', '/healthz', 'GET'],
    ] as const) {
      const response = await ask(method, path)
      expect([response.status, response.headers.get('allow')], path).toEqual([405, allow])
    }
  })

  test('healthz says that it works', async () => {
    const { ask } = served()
    expect(await (await ask('GET', '/healthz')).json()).toMatchObject({ status: 'ok' })
  })

  test('every answer is kept from being shown, kept or read elsewhere', async () => {
    const { ask } = served()
    for (const path of ['/healthz', '/threads', '/nothing', '/threads/none'])
      expect(Object.fromEntries((await ask('GET', path)).headers), path).toMatchObject({
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'cross-origin-resource-policy': 'same-origin',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      })
  })
})
