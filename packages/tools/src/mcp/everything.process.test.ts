import { fileURLToPath } from 'node:url'
import { agent } from 'millrace'
import { script, scriptedModel } from 'millrace/testing'
import { expect, test } from 'vitest'
import { toolContext } from '../../../millrace/src/tools/tool-context.test-kit.ts'
import { call, connected } from './kit.test-kit.ts'

const everything = {
  command: process.execPath,
  args: [
    fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js')),
    'stdio',
  ],
}

test('the reference server works through an agent', async () => {
  const tools = await connected({ ...everything, name: 'all' })
  const run = agent({
    model: scriptedModel(
      script.parallel(
        [
          ['all_echo', { message: 'hello' }],
          ['all_get-sum', { a: 2, b: 3 }],
          ['all_get-structured-content', { location: 'Chicago' }],
          ['all_get-tiny-image', {}],
          ['all_get-resource-links', { count: 2 }],
          ['all_get-resource-reference', { resourceType: 'Blob', resourceId: 1 }],
        ],
        'Done.',
      ),
    ),
    tools: [tools],
  }).stream('Try all of it.')
  const outputs: Record<string, unknown> = {}
  for await (const event of run) if (event.type === 'tool-result') outputs[event.name] = event.output
  expect(outputs).toMatchObject({
    all_echo: [{ type: 'text', text: 'Echo: hello' }],
    'all_get-sum': [{ type: 'text', text: 'The sum of 2 and 3 is 5.' }],
    'all_get-structured-content': [{ type: 'text', text: expect.stringContaining('"temperature":36') }],
    'all_get-tiny-image': expect.arrayContaining([
      expect.objectContaining({ type: 'image', mediaType: 'image/png' }),
    ]),
    'all_get-resource-links': expect.arrayContaining([
      { type: 'text', text: expect.stringMatching(/^\[link: demo:\/\/resource\//) },
    ]),
    'all_get-resource-reference': expect.arrayContaining([
      { type: 'text', text: expect.stringMatching(/^\[demo:\/\/resource\/.*: not shown\]$/) },
    ]),
  })
})

test('a long operation reports progress', async () => {
  const box = await connected({ ...everything, trust: true })
  const context = toolContext()
  await call(box, 'trigger-long-running-operation', { duration: 0.2, steps: 4 }, context)
  expect(context.progressed).toEqual([1, 2, 3, 4].map((progress) => ({ progress, total: 4 })))
})

test('only a trusted server can declare a tool harmless', async () => {
  const [trusted, untrusted] = [await connected({ ...everything, trust: true }), await connected(everything)]
  const find = (box: typeof trusted, name: string) => box.tools.find((tool) => tool.name === name)
  expect(find(trusted, 'echo')?.access?.({} as never)).toEqual([])
  expect(find(trusted, 'echo')?.repeat).toBe('safe')
  expect(find(trusted, 'toggle-simulated-logging')?.access).toBeUndefined()
  expect(find(untrusted, 'echo')?.access).toBeUndefined()
  expect(find(untrusted, 'echo')?.repeat).toBe('never')
})
