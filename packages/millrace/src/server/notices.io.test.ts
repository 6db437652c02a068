import { expect, onTestFinished, test } from 'vitest'
import { agent } from '../agent/index.ts'
import { invalidInput } from '../protocol/index.ts'
import { scriptedModel } from '../testing/index.ts'
import type { Toolbox } from '../tools/index.ts'
import { type ServeOptions, serve } from './index.ts'

const model = scriptedModel(() => 'Hello.')
const noticeBox: Toolbox = { tools: [], notices: async () => ['Mind the gap.'] }
const failingBox: Toolbox = {
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

const agentInfo = (name: string) => ({ name, tools: [], models: ['scripted'] })

async function agentsOf(app: ReturnType<typeof served>, user = '') {
  const request = new Request('http://127.0.0.1/agents', { headers: { authorization: user } })
  return (await app.fetch(request)).json()
}

test('agents are listed with the notices of their tools, without duplicates', async () => {
  const app = served({ plain: [], clerk: [noticeBox, noticeBox] })
  expect(await agentsOf(app)).toEqual({
    agents: [agentInfo('plain'), { ...agentInfo('clerk'), notices: ['Mind the gap.'] }],
  })
  expect(await app.notices()).toEqual([])
  expect(await app.notices('clerk')).toEqual(['Mind the gap.'])
  await expect(app.notices('clark')).rejects.toThrow("Did you mean 'clerk'?")
})

test('only users who may inspect get notices', async () => {
  const auth = (request: Request) => {
    const user = request.headers.get('authorization') ?? ''
    return { user, canInspect: user === 'ada' }
  }
  const app = served({ clerk: [noticeBox] }, { auth })
  expect(await agentsOf(app, 'bob')).toEqual({ agents: [agentInfo('clerk')] })
  expect(await agentsOf(app, 'ada')).toEqual({
    agents: [{ ...agentInfo('clerk'), notices: ['Mind the gap.'] }],
  })
})

test('if tools cannot work, listen() rejects, and the list of agents has the reason', async () => {
  const app = served({ plain: [], clerk: [failingBox] })
  await expect(app.listen()).rejects.toMatchObject({
    code: 'invalid_input',
    message: 'box: there is no floor here',
  })
  expect(await agentsOf(app)).toEqual({
    agents: [agentInfo('plain'), { ...agentInfo('clerk'), notices: ['box: there is no floor here'] }],
  })
})
