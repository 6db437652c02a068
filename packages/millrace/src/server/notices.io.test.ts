import { expect, onTestFinished, test } from 'vitest'
import { agent } from '../agent/index.ts'
import { invalidInput } from '../protocol/index.ts'
import { scriptedModel } from '../testing/index.ts'
import type { Toolbox } from '../tools/index.ts'
import { type ServeOptions, serve } from './index.ts'

const model = scriptedModel(() => 'Hello.')
const told: Toolbox = { tools: [], notices: async () => ['Mind the gap.'] }
const refusing: Toolbox = {
  tools: [],
  notices: async () => {
    throw invalidInput('box', 'box: there is no floor here')
  },
}

function served(boxes: Record<string, Toolbox[]>, options: Omit<ServeOptions, 'agents'> = {}) {
  const agents = Object.entries(boxes).map(([name, tools]) => [name, agent({ name, model, tools })])
  const app = serve({ ...options, agents: Object.fromEntries(agents) })
  onTestFinished(() => app.close())
  return app
}

async function agentsOf(app: ReturnType<typeof served>, user = '') {
  const request = new Request('http://127.0.0.1/agents', { headers: { authorization: user } })
  return (await app.fetch(request)).json()
}

test('what there is to know of tools is told with their agent, once', async () => {
  const app = served({ plain: [], clerk: [told, told] })
  expect(await agentsOf(app)).toEqual({
    agents: [{ name: 'plain' }, { name: 'clerk', notices: ['Mind the gap.'] }],
  })
  expect(await app.notices()).toEqual([])
  expect(await app.notices('clerk')).toEqual(['Mind the gap.'])
  await expect(app.notices('clark')).rejects.toThrow("Did you mean 'clerk'?")
})

test('of several users those are told who may inspect', async () => {
  const auth = (request: Request) => {
    const user = request.headers.get('authorization') ?? ''
    return { user, inspects: user === 'ada' }
  }
  const app = served({ clerk: [told] }, { auth })
  expect(await agentsOf(app, 'bob')).toEqual({ agents: [{ name: 'clerk' }] })
  expect(await agentsOf(app, 'ada')).toEqual({ agents: [{ name: 'clerk', notices: ['Mind the gap.'] }] })
})

test('where tools refuse to work nothing listens, and those who ask in another way are told why', async () => {
  const app = served({ plain: [], clerk: [refusing] })
  await expect(app.listen()).rejects.toMatchObject({
    code: 'invalid_input',
    message: 'box: there is no floor here',
  })
  expect(await agentsOf(app)).toEqual({
    agents: [{ name: 'plain' }, { name: 'clerk', notices: ['box: there is no floor here'] }],
  })
})
