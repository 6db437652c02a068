import { millrace } from 'millrace'
import { expect, onTestFinished, test } from 'vitest'
import { phoneDesk, supportDesk } from '../examples/support-desk/agent.ts'
import { scriptedProvider } from '../examples/support-desk/scripted.ts'

test('the scripted support desk calls tools for every message that it offers to start with', async () => {
  const provider = await scriptedProvider()
  onTestFinished(() => provider.close())
  const app = millrace({ agents: { ...supportDesk(provider.model), phone: phoneDesk(provider.model) } })
  onTestFinished(() => app.close({ graceMs: 0 }))
  const asked = app.agents.flatMap((agent) =>
    (app.describe(agent).starters ?? []).map(async (starter) => {
      const thread = app.thread(undefined, { agent })
      await thread.send(starter)
      for await (const { event } of thread.follow()) {
        if (event.type === 'tool-result') return [starter, event.status]
        if (event.type === 'run-end') return [starter, 'no tool was called']
      }
      return undefined
    }),
  )
  expect(asked).toHaveLength(9)
  for (const answer of await Promise.all(asked)) expect(answer).toEqual([expect.any(String), 'ok'])
})
