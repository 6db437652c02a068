import { Validator } from '@cfworker/json-schema'
import { describe, expect, test } from 'vitest'
import type { Entry, ThreadEvent } from '../protocol/index.ts'
import { millraceSocket, millraceSse } from '../protocols/index.ts'
import { asker, entriesOf } from '../protocols/protocols.test-kit.ts'
import { memoryExchanges, millrace } from '../threads/index.ts'
import { admission } from './admission.ts'
import { readServerOptions } from './options.ts'
import { allRoutes } from './routes.ts'
import { served } from './server.test-kit.ts'
import { openStreams } from './streams.ts'

interface Operation {
  readonly operationId: string
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: object }[]
  readonly requestBody?: { readonly content: Record<string, { readonly schema: object }> }
  readonly responses: Record<string, { readonly content?: Record<string, { readonly schema: object }> }>
}

interface Document {
  readonly openapi: string
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: object
}

async function described(given = served(asker(), {}, { exchanges: memoryExchanges() })) {
  const document = (await (await given.ask('GET', '/openapi.json')).json()) as Document
  const schemaFor = (schema: object) =>
    new Validator({ ...schema, components: document.components } as never, '2020-12')
  return { ...given, document, schemaFor }
}

/** A path of the document with its parameters filled in. */
function filledIn(path: string, { id, callId }: { id: string; callId: string }) {
  return path.replace('{id}', id).replace('{callId}', encodeURIComponent(callId))
}

describe('openapi.json', () => {
  test('has exactly the routes of the server', async () => {
    const { document } = await described()
    const app = millrace({ agents: asker() })
    const settings = readServerOptions({}, 'serve')
    const streams = openStreams({ max: 1, perCaller: 1, onRejected: () => {} })
    const clientOptions = () => new Set<never>()
    const host = {
      ...{ ...settings, clientOptions },
      agents: app.agents,
      authenticates: false,
      describe: () => ({}) as never,
      openThread: app.thread,
      publicError: () => ({}) as never,
      onError: () => {},
    }
    const protocolRoutes = [millraceSse(), millraceSocket({ voice: undefined })].flatMap(
      (protocol) => protocol.mount(host).routes,
    )
    const routes = [
      ...protocolRoutes,
      ...allRoutes(app, {
        ...settings,
        clientOptions,
        streams,
        admission: admission({ limits: settings.limits, buffer: app.buffer, onRejected: app.rejected }),
        protocolRoutes,
      }),
    ]
    await app.close()
    const written = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const there = routes.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`)
    expect(written.sort()).toEqual(there.sort())
    expect(document.openapi).toBe('3.1.0')
    const names = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    )
    expect(new Set(names).size).toBe(names.length)
  })

  test('the server supports exactly the documented methods', async () => {
    const { ask, document } = await described()
    await ask('POST', '/threads', { body: { id: 'one' } })
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
        const { status, body } = await ask(method, filledIn(path, { id: 'none', callId: 'call_1' }))
        await body?.cancel()
        expect(status === 405, `${method} ${path}`).toBe(!(method.toLowerCase() in methods))
      }
    }
  })

  test('every response matches its schema', async () => {
    const { ask, document, schemaFor } = await described()
    const seen = new Set<string>()
    const check = async (operationId: string, path: string, more: Parameters<typeof ask>[2] = {}) => {
      const [template, method, operation] = Object.entries(document.paths)
        .flatMap(([template, methods]) =>
          Object.entries(methods).map(([method, operation]) => [template, method, operation] as const),
        )
        .find(([, , operation]) => operation.operationId === operationId) as [string, string, Operation]
      expect(path.split('?')[0]?.split('/').length, template).toBe(template.split('/').length)
      if (more.body !== undefined) {
        const schema = operation.requestBody?.content['application/json']?.schema ?? {}
        expect(schemaFor(schema).validate(more.body).valid, `${operationId}: the body`).toBe(true)
      }
      const response = await ask(method.toUpperCase(), path, more)
      const answer = operation.responses[response.status] ?? operation.responses.default
      const isListed = String(response.status) in operation.responses
      expect(isListed || response.status >= 400, `${operationId}: ${response.status}`).toBe(true)
      seen.add(`${operationId} ${isListed ? response.status : 'default'}`)
      const type = response.headers.get('content-type')?.split(';')[0] ?? ''
      if (!answer?.content) {
        expect(await response.text()).toBe('')
        return undefined
      }
      expect(Object.keys(answer.content), operationId).toContain(type)
      if (type === 'text/event-stream') {
        const entries = await entriesOf(response.body)
        for (const entry of entries)
          expect(schemaFor({ $ref: '#/components/schemas/Entry' }).validate(entry)).toMatchObject({
            valid: true,
          })
        return entries
      }
      const value = await response.json()
      const { valid, errors } = schemaFor(answer.content[type]?.schema ?? {}).validate(value)
      expect(errors, operationId).toEqual([])
      expect(valid).toBe(true)
      return value
    }

    await check('createThread', '/threads', { body: { id: 'one', agent: 'asker', metadata: { a: 1 } } })
    await check('createThread', '/threads', { body: { id: 'one' } })
    await check('sendMessage', '/threads/one/messages', {
      body: { message: 'Cut it.', mode: 'queue', key: 'k' },
    })
    const events = { headers: { accept: 'text/event-stream' } }
    await check('followEvents', '/threads/one/events?until=idle', events)
    const waiting = await check('getThread', '/threads/one')
    const { callId } = waiting.approvals[0]
    const approval = `/threads/one/approvals/${encodeURIComponent(callId)}`
    await check('answerApproval', approval, {
      body: { approved: true, reason: 'why not', input: { where: 'x' } },
    })
    await check('answerApproval', approval, { body: { approved: false } })
    await check('followEvents', '/threads/one/events?until=idle', events)
    await check('followEvents', '/threads/one/events?after=2&split=true', {
      headers: { accept: 'application/json' },
    })
    await check('followEvents', '/threads/none/events')
    await check('sendMessage', '/threads/one/messages', { body: { message: 'Again.' }, ...events })
    const message = { role: 'user', content: [{ type: 'text', text: 'More.' }] }
    await check('sendMessage', '/threads/one/messages', { body: { message, mode: 'interrupt' } })
    await check('sendMessage', '/threads/none/messages', { body: { message } })
    await check('rewindThread', '/threads/one/rewind', { body: { before: 2, key: 'r' } })
    await check('rewindThread', '/threads/one/rewind', {
      body: { before: 2, key: 'r', request: { toolChoice: { name: 'cut_rope' } } },
      ...events,
    })
    await check('rewindThread', '/threads/none/rewind', { body: { before: 1 } })
    const tools = [{ name: 'look', description: 'Looks', inputSchema: { type: 'object' }, strict: false }]
    const replace = { system: 'Look well.', tools: [] }
    const request = { model: 'scripted', tools, toolChoice: 'none', output: { type: 'object' }, replace }
    const messages = [{ role: 'user', content: 'Look.' }]
    await check('createThread', '/threads', { body: { id: 'three', messages, request } })
    await check('respondToCall', `/threads/one/calls/${encodeURIComponent(callId)}/result`, {
      body: { output: [1], isError: false },
    })
    await check('respondToCall', '/threads/none/calls/call_1/result', { body: { output: null } })
    await check('stopThread', '/threads/one/stop', { body: { reason: 'enough' } })
    await check('stopThread', '/threads/none/stop', { body: {} })
    await check('getThread', '/threads/one')
    await check('getThread', '/threads/none')
    await check('forkThread', '/threads/one/fork', { body: { at: 3, id: 'two' } })
    await check('forkThread', '/threads/none/fork', { body: { at: 3 } })
    await check('getThread', '/threads/two')
    await check('listThreads', '/threads?limit=1&status=idle&search=cut')
    await check('listThreads', '/threads?limit=0')
    await check('openSocket', '/threads/one/socket')
    await check('deleteThread', '/threads/two')
    await check('deleteThread', '/threads/two')
    await check('listAgents', '/agents')
    await check('getAgent', '/agents/asker')
    await check('getAgent', '/agents/unknown')
    await check('getUsage', '/usage')
    await check('getSpending', '/spending?by=agent,model&from=2026-01-01&agent=asker')
    await check('getSpending', '/spending?by=week')
    expect(await check('voice', '/voice')).toEqual({ speak: false, listen: false })
    const { entries } = await check('followEvents', '/threads/one/events', {
      headers: { accept: 'application/json' },
    })
    const { runId } = entries
      .map(({ event }: Entry) => event)
      .find(({ type }: ThreadEvent) => type === 'run-start')
    const thread = { id: 'one', agent: 'asker' }
    await check('importThread', '/import', { body: { version: 2, thread, entries } })
    await check('importThread', '/import', { body: { version: 99, thread, entries: [] } })
    await check('changeThread', '/threads/one', { body: { title: 'A rope' } })
    await check('changeThread', '/threads/one', { body: { metadata: { color: 'red', size: null } } })
    await check('changeThread', '/threads/one', { body: {} })
    await check('changeThread', '/threads/none', { body: { title: 'A rope' } })
    await check('giveFeedback', '/threads/one/feedback', { body: { run: runId, rating: 'up', note: 'Yes.' } })
    await check('giveFeedback', '/threads/none/feedback', { body: { run: runId } })
    await check('listThreads', '/threads?outcome=completed&tool=cut_rope&minUsd=0&since=0&search=again')
    const { exchanges } = await check('listExchanges', `/threads/one/exchanges?run=${runId}&round=1`)
    expect(exchanges).toHaveLength(1)
    await check('listExchanges', '/threads/one/exchanges')
    const { source } = await check('getTestScript', '/threads/one/test-script')
    expect(source).toContain("from 'vitest'")
    await check('getTestScript', '/threads/none/test-script')
    await check('health', '/healthz')
    await check('readiness', '/readyz')
    // Readiness depends on the load of the machine.
    for (const status of [200, 503]) seen.delete(`readiness ${status}`)
    await check('openapi', '/openapi.json')

    const promised = Object.values(document.paths)
      .flatMap(Object.values<Operation>)
      .flatMap(({ operationId, responses }) =>
        Object.keys(responses).map((status) => `${operationId} ${status}`),
      )
      // `fetch` cannot upgrade, and these six operations have no invalid requests.
      .filter(
        (one) =>
          !/^(openSocket 101|readiness \d+|(listAgents|getUsage|voice|health|readiness|openapi) default)$/.test(
            one,
          ),
      )
    expect([...seen].sort()).toEqual(promised.sort())
  })

  test('a body that does not match its schema is rejected', async () => {
    const { ask, document, schemaFor } = await described()
    await ask('POST', '/threads', { body: { id: 'one' } })
    const bodies: unknown[] = [
      {},
      [],
      'text',
      { id: 'a b' },
      { id: 7 },
      { agent: '' },
      { metadata: [] },
      { message: '' },
      { message: 'x', mode: 'loud' },
      { message: 'x', key: '' },
      { message: 'x', key: 'k'.repeat(257) },
      { message: null },
      { approved: 'yes' },
      { approved: true, input: 'x' },
      { approved: true, remember: 'x' },
      { approved: true, remember: { for: 'x' } },
      { reason: 7 },
      { at: -1 },
      { at: 1.5 },
      { at: 0, id: '..' },
      { messages: {} },
      { messages: [{}] },
      { message: 'x', request: [] },
      { message: 'x', request: { tools: {} } },
      { message: 'x', request: { tools: [{ name: 'look' }] } },
      { message: 'x', request: { toolChoice: 'maybe' } },
      { message: 'x', request: { surprise: true } },
      { output: 'x', isError: 'no' },
      { content: 'x' },
      { content: [{ type: 'video' }] },
      { before: 0 },
      { before: 1, key: 7 },
      { before: 1, request: { output: 'x' } },
      { surprise: true },
    ]
    for (const [path, methods] of Object.entries(document.paths)) {
      const schema = methods.post?.requestBody?.content['application/json']?.schema
      if (!schema) continue
      for (const body of bodies) {
        const { status } = await ask('POST', filledIn(path, { id: 'one', callId: 'call_1' }), {
          body: JSON.stringify(body),
        })
        const { valid } = schemaFor(schema).validate(body)
        if (!valid) expect(status, `${path} ${JSON.stringify(body)}`).toBe(400)
      }
    }
  })
})
