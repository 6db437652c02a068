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

  test('takes a list, one tool, or whatever named exports are tools', async () => {
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
    [`export const nothing = 1`, /exports no tools: write export default \[tool/],
    [`export default []`, /exports no tools/],
    [`export default [{ name: 'x', run() {} }]`, /item 1 of the default export of .* is an object \(x\)/],
    [`export default 7`, /the default export of .* is a number/],
    [`export default [make('a'), make('a')]`, /two tools named 'a'/],
    [`export default [make('a'), { tools: [make('a')] }]`, /two tools named 'a'/],
    [`export default make('a'); export const permission = 'all'`, /must be what permission\(/],
    [`export default [`, /cannot be loaded: /],
    [`throw new Error('no luck')`, /cannot be loaded: no luck/],
    [`import 'not-there-at-all'`, /cannot be loaded: .*not-there-at-all/],
  ])('refuses %s', async (text, message) => {
    await expect(names(text)).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringMatching(message),
    })
  })

  test('refuses a file that is not there', async () => {
    await expect(toolsFrom('nope.ts')).rejects.toThrow('--tools: there is no file nope.ts')
  })

  test('says so where Node cannot read TypeScript', async () => {
    const path = write(`export default []`)
    await expect(importFile(path, '--tools', { typescript: false })).rejects.toThrow(
      /is TypeScript, which Node v\S+ cannot run: use Node 22.18/,
    )
  })
})

describe('the file of serve', () => {
  const made = `
    import { agent } from ${millrace}
    import { scriptedModel } from ${testing}
    const make = (name: string) => agent({ name, model: scriptedModel([]) })
  `
  const names = async (text: string) => Object.keys(await agentsFrom(write(made + text), 'serve'))

  test('exports one agent, a record of them, or some by name', async () => {
    expect(await names(`export default make('desk')`)).toEqual(['desk'])
    expect(await names(`export default { a: make('x'), b: make('y') }`)).toEqual(['a', 'b'])
    expect(await names(`export const a = make('x'), b = make('y'), c = 1`)).toEqual(['a', 'b'])
  })

  test.each([
    [`export default {}`, /exports no agents: write export default agent/],
    [`export const nothing = 1`, /exports no agents/],
    [
      `export default { a: make('x'), b: {} }`,
      /'b' of the default export of .* is an object, not what agent/,
    ],
    [`export default 'desk'`, /the default export of .* is a string, and should be an agent/],
  ])('refuses %s', async (text, message) => {
    await expect(names(text)).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringMatching(message),
    })
  })
})
