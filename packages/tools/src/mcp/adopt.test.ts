import { expect, test } from 'vitest'
import { checkInput } from '../../../millrace/src/tools/prepare.ts'
import { adopt } from './adopt.ts'

const slow = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } } as const

test('a pattern of an untrusted server is left to the server, since it could block the process', async () => {
  const tool = adopt({ name: 'x', inputSchema: slow }, { name: 'x', trust: false, call: async () => 'ran' })
  expect(tool.inputSchema).toMatchObject({ properties: { a: { pattern: '^(a+)+$' } } })
  // Checking this here would take forever.
  expect(await checkInput(tool, { a: `${'a'.repeat(60)}!` })).toMatchObject({ type: 'ready' })
})

test('other schemas are checked here', async () => {
  const inputSchema = { type: 'object', properties: { a: { type: 'string' } } } as const
  const tool = adopt({ name: 'x', inputSchema }, { name: 'x', trust: false, call: async () => 'ran' })
  expect(await checkInput(tool, { a: 1 })).toMatchObject({ type: 'rejected' })
})
