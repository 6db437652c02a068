import { expect, test, vi } from 'vitest'
import { toolCache } from './tool-cache.ts'

const spec = { name: 'look', description: 'Looks', inputSchema: { type: 'object' } } as const

test('a tool is converted once, however often it is described', () => {
  const convert = vi.fn(({ name }: { readonly name: string }) => ({ name }))
  const convertOnce = toolCache(convert)
  expect(convertOnce(spec)).toStrictEqual({ name: 'look' })
  expect(convertOnce({ ...spec })).toBe(convertOnce(spec))
  expect(convert).toHaveBeenCalledTimes(1)
})

test.each([
  ['name', { name: 'see' }],
  ['description', { description: 'Sees' }],
  ['strictness', { strict: true }],
  ['schema', { inputSchema: { type: 'object', properties: {} } }],
])('a tool with another %s is converted again', (_, change) => {
  const convert = toolCache(({ name, description, inputSchema, strict = null }) => {
    return { name, description, inputSchema, strict }
  })
  convert(spec)
  expect(convert({ ...spec, ...change })).toStrictEqual({ ...spec, strict: null, ...change })
  expect(convert(spec)).toStrictEqual({ ...spec, strict: null })
})
