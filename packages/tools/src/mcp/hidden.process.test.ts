import { expect, test, vi } from 'vitest'
import { call, connected, rawServer } from './kit.test-kit.ts'

test('invisible characters are removed from everything that a model reads of a tool', async () => {
  const onError = vi.fn()
  const box = await connected({ ...rawServer('hidden'), name: 'sky', onError })
  expect(box.tools[0]).toMatchObject({
    name: 'sky_weather',
    description: 'The weather ❤️ in a city.\nThanks',
    inputSchema: { properties: { city: { description: 'Its name', enum: ['Oslo'] } } },
  })
  // The server gets the original name of the tool.
  expect(await call(box, 'sky_weather')).toMatch(/^\[/)

  const notice =
    "The tool 'sky_weather' of the MCP server 'sky' contained 35 invisible characters (U+200B, U+00AD, U+E0072, U+E0065, U+E0061, U+E0064, U+E0020, U+E0076 …), which were removed."
  expect(await box.notices()).toEqual([notice])
  expect(onError.mock.calls).toEqual([[new Error(notice)]])
})

test('a server without invisible characters has no notices', async () => {
  const box = await connected(rawServer('plain'))
  expect(await box.notices()).toEqual([])
})
