import { expect, test } from 'vitest'
import { agent } from '../agent/index.ts'
import { scriptedModel } from '../testing/index.ts'
import type { Tool } from './index.ts'
import { tool, toolsIn } from './index.ts'

const make = (name: string, answer = name) =>
  tool({ name, description: name, input: { jsonSchema: {} }, run: () => answer })

test('tools and toolboxes can be mixed', () => {
  const names = toolsIn([make('a'), { tools: [make('b'), make('c')] }]).map(({ name }) => name)
  expect(names).toEqual(['a', 'b', 'c'])
})

test('the tools of a toolbox are read before each round', async () => {
  const box: { tools: Tool[] } = { tools: [make('first')] }
  const swap = tool({
    name: 'swap',
    description: 'Takes others',
    input: { jsonSchema: {} },
    run: () => {
      box.tools = [make('second')]
      return 'swapped'
    },
  })
  const model = scriptedModel([[{ call: 'swap' }], [{ call: 'second' }, { call: 'first' }], 'Done.'])
  const { messages } = await agent({ model, tools: [swap, box] }).run('go')
  expect(model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
    ['swap', 'first'],
    ['swap', 'second'],
    ['swap', 'second'],
  ])
  expect(messages.filter(({ role }) => role === 'tool').slice(1)).toMatchObject([
    { content: [{ text: 'second' }] },
    { isError: true, content: [{ text: expect.stringContaining("There is no tool named 'first'") }] },
  ])
})

test('two tools with the same name are rejected at first; of those added later, the first is used', async () => {
  expect(() =>
    agent({ model: scriptedModel(['x']), tools: [make('a'), { tools: [make('a')] }] }).stream('go'),
  ).toThrow(/two tools named 'a'/)

  const box: { tools: Tool[] } = { tools: [] }
  const model = scriptedModel([[{ call: 'a' }], 'Done.'])
  const one = agent({ model, tools: [make('a', 'own'), box] })
  const run = one.stream('go')
  box.tools = [make('a', 'theirs')]
  expect((await run.result).messages).toMatchObject([{}, {}, { content: [{ text: 'own' }] }, {}])
})
