import { providerSimulator } from '@millrace/simulator'
import { describe, expect, onTestFinished, test } from 'vitest'
import { agent } from '../agent/index.ts'
import { openaiChat } from '../models/openai.ts'
import type { Exchange } from '../protocol/index.ts'
import { storyteller } from '../protocols/protocols.test-kit.ts'
import { memoryExchanges } from '../threads/index.ts'
import { untilIdle } from '../threads/threads.test-kit.ts'
import type { ServedApp, ServeOptions } from './index.ts'
import { serve } from './index.ts'

function opened(options: Partial<ServeOptions> = {}): ServedApp {
  const app = serve({ agents: storyteller(), flushMs: 0, onError: () => {}, ...options })
  onTestFinished(() => app.close({ graceMs: 0 }))
  return app
}

async function ask(app: ServedApp, path: string, as?: string) {
  const headers = as === undefined ? {} : { authorization: `Bearer ${as}` }
  const response = await app.fetch(new Request(`http://localhost${path}`, { headers }))
  const body = (await response.json()) as {
    exchanges?: Exchange[]
    error?: { code: string; message: string }
  }
  return { status: response.status, ...body }
}

/** A thread with one finished run. */
async function threadWithRun(app: ServedApp, user?: string) {
  const thread = app.thread(crypto.randomUUID(), { user })
  await thread.send('Hi')
  await untilIdle(thread)
  const { run } = await thread.state()
  return { thread, path: `/threads/${thread.id}/exchanges?run=${run?.id}` }
}

/** `ada` and `bob` are users; `dev` may inspect all threads, `eve` only her own. */
const auth = (request: Request) => {
  const [, user] = /^Bearer (\w+)$/.exec(request.headers.get('authorization') ?? '') ?? []
  if (user === undefined) return null
  return { user, ...(user === 'dev' && { canSee: () => true }), canInspect: user === 'dev' || user === 'eve' }
}

describe('GET /threads/:id/exchanges', () => {
  test('returns the model calls of a run, or of one round', async () => {
    await using simulator = await providerSimulator([[{ call: 'none', input: {} }], 'Done.'])
    const model = openaiChat('m', { baseURL: simulator.baseURL, apiKey: 'sk-0123456789abcdef' })
    const app = opened({ agents: agent({ model }) })
    const { path } = await threadWithRun(app)
    const all = await ask(app, path)
    expect(all.status).toBe(200)
    expect(all.exchanges?.map(({ round }) => round)).toEqual([1, 2])
    expect(JSON.parse(all.exchanges?.[1]?.wire[0]?.body ?? '')).toEqual(simulator.requests[1]?.body)
    const second = await ask(app, `${path}&round=2`)
    expect(second.exchanges?.map(({ round }) => round)).toEqual([2])
    expect((await ask(app, path.replace(/run=.*/, 'run=run_other'))).exchanges).toEqual([])
  })

  test('requires a run', async () => {
    const app = opened()
    const { path } = await threadWithRun(app)
    const missing = await ask(app, path.split('?')[0] ?? '')
    expect(missing).toMatchObject({
      status: 400,
      error: { code: 'invalid_input', message: expect.stringMatching(/'run' is missing/) },
    })
    expect(await ask(app, `${path}&round=0`)).toMatchObject({ status: 400 })
  })

  test('is only for users who may inspect and may see the thread', async () => {
    const app = opened({ auth, exchanges: true })
    const { path } = await threadWithRun(app, 'ada')
    expect(await ask(app, path)).toMatchObject({ status: 401, error: { code: 'auth' } })
    expect(await ask(app, path, 'ada')).toMatchObject({ status: 403, error: { code: 'auth' } })
    const notVisible = await ask(app, path, 'eve')
    expect(notVisible).toMatchObject({ status: 404, error: { code: 'not_found' } })
    expect(await ask(app, path, 'bob')).toEqual(notVisible)
    expect(await ask(app, path.replace(/threads\/[^/]+/, 'threads/none'), 'eve')).toEqual(notVisible)
    expect(await ask(app, path, 'dev')).toMatchObject({ status: 200, exchanges: [{ round: 1 }] })
    const own = await threadWithRun(app, 'eve')
    expect(await ask(app, own.path, 'eve')).toMatchObject({ status: 200, exchanges: [{ round: 1 }] })
  })

  test('returns 404 for a deleted thread, whose exchanges are deleted too', async () => {
    const exchanges = memoryExchanges()
    const app = opened({ exchanges })
    const { thread, path } = await threadWithRun(app)
    const { run } = await thread.state()
    expect(await exchanges.read(thread.id, run?.id ?? '')).toHaveLength(1)
    const gone = await app.fetch(new Request(`http://localhost/threads/${thread.id}`, { method: 'DELETE' }))
    expect(gone.status).toBe(204)
    expect(await ask(app, path)).toMatchObject({ status: 404 })
    expect(await exchanges.read(thread.id, run?.id ?? '')).toEqual([])
  })
})

describe('model calls are recorded', () => {
  const off = {
    status: 404,
    error: {
      code: 'not_found',
      message: expect.stringMatching(/pass the option 'exchanges' to millrace\(\) or serve\(\)/),
    },
  }
  const on = { status: 200, exchanges: [{ round: 1 }] }

  test.each<[string, Partial<ServeOptions>, object]>([
    ['without auth', {}, on],
    ['but not with a public host name', { hosts: ['chat.example.org'] }, off],
    ['but not with exchanges: false', { exchanges: false }, off],
    ['but not with auth: false', { auth: false }, off],
    ['with auth: false and exchanges: true', { auth: false, exchanges: true }, on],
    ['but not with auth', { auth }, off],
    ['with auth and exchanges: true', { auth, exchanges: true }, on],
    ['in a custom store', { auth, exchanges: memoryExchanges() }, on],
  ])('%s', async (_, options, expected) => {
    const app = opened(options)
    const { path } = await threadWithRun(app, 'dev')
    expect(await ask(app, path, 'dev')).toMatchObject(expected)
  })

  test.each([null, 'yes', {}])('but not in %j, which is not a store', (exchanges) => {
    expect(() => opened({ exchanges: exchanges as never })).toThrow("the option 'exchanges' must be")
  })
})
