import { expect, test } from 'vitest'
import { makeHome } from './cli.test-kit.ts'
import { ruledFile } from './tools.test-kit.ts'

test('rules under another name are rejected, not ignored', async () => {
  const home = makeHome()
  home.write('tools.ts', ruledFile.replace('export const permission =', 'export const mine ='))
  const { exit, stderr } = await home.run(['hello', '--tools', 'tools.ts', '--model', 'simulator'])
  expect(stderr).toContain(
    "exports its permission rules as 'mine', which is not read: write export { mine as permission }",
  )
  expect(exit).toBe(2)
})

test.each([
  [
    'export default [Promise.resolve({ tools: [] })]',
    'item 1 of the default export of tools.ts is a promise',
  ],
  ['export const box = Promise.reject(new Error("x"))', 'the export box of tools.ts is a promise: await it'],
])('%s is rejected: it must be awaited', async (source, message) => {
  const home = makeHome()
  home.write('tools.ts', source)
  const { exit, stderr } = await home.run(['hello', '--tools', 'tools.ts', '--model', 'simulator'])
  expect(stderr).toContain(message)
  expect(exit).toBe(2)
})
