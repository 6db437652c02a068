import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { toolsIn } from '../tools/index.ts'
import { agentsFrom } from './agents-file.ts'
import { importFile } from './modules.ts'
import { toolsFrom } from './tools-file.ts'

const millrace = JSON.stringify(fileURLToPath(new URL('../index.ts', import.meta.url)))
const testing = JSON.stringify(fileURLToPath(new URL('../testing/index.ts', import.meta.url)))
const folder = mkdtempSync(join(tmpdir(), 'millrace-modules-'))
let files = 0

afterAll(() => rmSync(folder, { recursive: true, force: true }))

function write(text: string): string {
  const path = join(folder, `module-${++files}.mts`)
  writeFileSync(path, text)
  return path
}

describe('--tools', () => {
  const made = `
    import { tool } from ${millrace}
    const make = (name: string) => tool({ name, description: 'x', input: { jsonSchema: {} }, run: () => 1 })
  `
  const names = async (text: string) => {
    const { tools } = await toolsFrom(write(made + text))
    return toolsIn(tools).map(({ name }) => name)
  }

  test('accepts a list, one tool, or named exports that are tools', async () => {
    expect(await names(`export default [make('a'), make('b')]`)).toEqual(['a', 'b'])
    expect(await names(`export default make('a')`)).toEqual(['a'])
    expect(await names(`export const one = make('a'), two = make('b'), three = 3`)).toEqual(['a', 'b'])
    expect(await names(`export default [make('a'), { tools: [make('b'), make('c')] }]`)).toEqual([
      'a',
      'b',
      'c',
    ])
    expect(await names(`export const box = { tools: [make('a')] }`)).toEqual(['a'])
    expect((await toolsFrom(undefined)).tools).toEqual([])
  })

  test.each([
    [`export const nothing = 1`, /exports no tools: add export default \[tool/],
    [`export default []`, /exports no tools/],
    [
      `export default [{ name: 'x', run() {} }]`,
      /item 1 of the default export of .* must be made with tool.*, not an object \(x\)/,
    ],
    [`export default 7`, /the default export of .* must be made with tool.*, not a number/],
    [`export default [make('a'), make('a')]`, /two tools named 'a'/],
    [`export default [make('a'), { tools: [make('a')] }]`, /two tools named 'a'/],
    [`export default make('a'); export const permission = 'all'`, /must be made with permission\(/],
    [`export default [`, /cannot load .*: /],
    [`throw new Error('no luck')`, /cannot load .*: no luck/],
    [`import 'not-there-at-all'`, /cannot load .*: .*not-there-at-all/],
  ])('rejects %s', async (text, message) => {
    await expect(names(text)).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringMatching(message),
    })
  })

  test('rejects a missing file', async () => {
    await expect(toolsFrom('nope.ts')).rejects.toThrow('--tools: file not found: nope.ts')
  })

  test('rejects TypeScript where Node cannot run it', async () => {
    const path = write(`export default []`)
    await expect(importFile(path, '--tools', { typescript: false })).rejects.toThrow(
      /is TypeScript, which Node v\S+ cannot run: use Node 22.18/,
    )
  })
})

describe('the agents file', () => {
  const made = `
    import { agent } from ${millrace}
    import { scriptedModel } from ${testing}
    const make = (name: string) => agent({ name, model: scriptedModel([]) })
  `
  const names = async (text: string) => Object.keys(await agentsFrom(write(made + text), 'serve'))

  test('exports one agent, a record of agents, or named agents', async () => {
    expect(await names(`export default make('desk')`)).toEqual(['desk'])
    expect(await names(`export default { a: make('x'), b: make('y') }`)).toEqual(['a', 'b'])
    expect(await names(`export const a = make('x'), b = make('y'), c = 1`)).toEqual(['a', 'b'])
  })

  test.each([
    [`export default {}`, /exports no agents: add export default agent/],
    [`export const nothing = 1`, /exports no agents/],
    [
      `export default { a: make('x'), b: {} }`,
      /'b' in the default export of .* must be an agent made with agent.*, not an object/,
    ],
    [
      `export default 'desk'`,
      /the default export of .* must be an agent or a record of agents, not a string/,
    ],
  ])('rejects %s', async (text, message) => {
    await expect(names(text)).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringMatching(message),
    })
  })
})
