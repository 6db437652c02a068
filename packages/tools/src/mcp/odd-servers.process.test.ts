import { expect, test, vi } from 'vitest'
import { mcp } from '../mcp.ts'
import { call, connected, rawServer } from './kit.test-kit.ts'

test.each(['ends-when-asked', 'deaf', 'chatter'])(
  'a server of the first protocol that %s is understood',
  async (mode) => {
    // A deaf one is asked for half of the time.
    const box = await connected({ ...rawServer(mode), connectMs: 4_000 })
    expect(box.server).toEqual({ name: 'raw', version: '0', protocol: '2024-11-05' })
    expect(box.tools.map(({ name }) => name)).toEqual(['pids', 'ask', 'die', 'late'])
    expect(await call(box, 'pids')).toMatch(/^\[\d+,null\]$/)
  },
)

test('a server that never answers is given up in time', async () => {
  await expect(mcp({ ...rawServer('mute'), name: 'mute', connectMs: 600 })).rejects.toMatchObject({
    code: 'timeout',
    message: "the MCP server 'mute' did not answer within 600 ms",
  })
})

test('a server that ends at once is told of with the end of what it wrote', async () => {
  const failure = await mcp({ ...rawServer('crashes'), name: 'db' }).catch((error: Error) => error)
  expect(failure).toMatchObject({ code: 'tool_failed', op: 'mcp.connect' })
  const [first, ...lines] = (failure as Error).message.split('\n')
  expect(first).toBe("the MCP server 'db' ended before it had answered. It wrote last:")
  expect(lines).toHaveLength(20)
  expect(lines.at(-1)).toBe('cannot open the database, line 30')
})

test('a server that ends when it is asked for its tools has none', async () => {
  await expect(mcp({ ...rawServer('ends-at-list'), name: 'x' })).rejects.toThrow(
    "the MCP server 'x' ended before it had answered",
  )
})

test('what a dying server wrote is in the failure of its call, and one that keeps dying is left alone for a while', async () => {
  const box = await connected(rawServer('plain'))
  const dying = () => call(box, 'die').catch((error: Error) => error.message)
  expect(await dying()).toBe(
    "the MCP server 'raw' ended while it ran: whether it took effect is unknown. It wrote last:\nout of paper",
  )
  expect(await dying()).toContain('ended while it ran')
  expect(await dying()).toMatch(
    /^the MCP server ended at once\. It wrote last:\nout of paper\nIt is not started again for another 1 s$/,
  )
  expect(box.tools).toHaveLength(4)
})

test('whatever its schema is like, a tool is there', async () => {
  const box = await connected(rawServer('odd'))
  const tools = Object.fromEntries(box.tools.map((tool) => [tool.name, tool]))
  expect(Object.keys(tools)).toEqual([
    'untyped',
    'schemaless',
    'draft7',
    'either',
    'broken',
    'elsewhere',
    'long',
  ])
  expect(tools.untyped?.inputSchema).toEqual({ type: 'object', properties: { a: { type: 'string' } } })
  expect(await tools.draft7?.schema.check({ city: '' })).toHaveProperty('issues')
  expect(await tools.draft7?.schema.check({ city: 'Oslo' })).toEqual({ value: { city: 'Oslo' } })
  for (const name of ['schemaless', 'either', 'broken', 'elsewhere']) {
    expect(tools[name]?.inputSchema).toEqual({ type: 'object' })
    expect(tools[name]?.description).toContain(`${name}\n\nThe JSON Schema of its input: `)
    expect(await call(box, name, { a: 1 })).toMatch(/^\[/)
  }
  expect(tools.either?.description).toContain('{"type":"object","anyOf":[{"required":["a"]}')
  expect(tools.long?.description).toHaveLength(4_000)
})

test('a list without an end is refused', async () => {
  await expect(mcp(rawServer('endless'))).rejects.toThrow(/listMaxPages \(100\)/)
})

test('a server that wants to ask a person or a model is refused, and goes on', async () => {
  const box = await connected(rawServer('plain'))
  expect(await call(box, 'ask')).toBe('refused with -32601,-32601,-32601')
})

test('a call has its time, and the server is there for the next', async () => {
  const box = await connected({ ...rawServer('plain'), timeoutMs: 1000 })
  await expect(call(box, 'late')).rejects.toThrow(
    "the MCP server 'raw' did not answer within 1000 ms: whether it took effect is unknown",
  )
  expect(await call(box, 'pids')).toMatch(/^\[/)
})

test('only the tools that are wanted are there, and one that is not there is named', async () => {
  const box = await connected({ ...rawServer('plain'), tools: ['ask', 'pids'] })
  expect(box.tools.map(({ name }) => name)).toEqual(['pids', 'ask'])
  await expect(mcp({ ...rawServer('plain'), name: 'raw', tools: ['aks'] })).rejects.toMatchObject({
    code: 'invalid_input',
    message: "the MCP server 'raw' has no tool 'aks': did you mean 'ask'?",
  })
})

test('what a server writes on stderr is heard', async () => {
  const onLog = vi.fn()
  await mcp({ ...rawServer('crashes'), onLog }).catch(() => {})
  expect(onLog).toHaveBeenCalledWith({ from: 'stderr', text: 'cannot open the database, line 1' })
})
