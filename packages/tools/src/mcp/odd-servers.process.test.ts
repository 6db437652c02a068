import { expect, test, vi } from 'vitest'
import { mcp } from '../mcp.ts'
import { call, connected, rawServer } from './kit.test-kit.ts'

test.each(['ends-when-asked', 'deaf', 'chatter'])(
  'a server of the first protocol (%s) is supported',
  async (mode) => {
    // Discovery of a deaf one takes half of the time.
    const box = await connected({ ...rawServer(mode), connectMs: 4_000 })
    expect(box.server).toEqual({ name: 'raw', version: '0', protocol: '2024-11-05' })
    expect(box.tools.map(({ name }) => name)).toEqual(['pids', 'ask', 'die', 'late'])
    expect(await call(box, 'pids')).toMatch(/^\[\d+,null\]$/)
  },
)

test('connecting to a silent server times out', async () => {
  await expect(mcp({ ...rawServer('mute'), name: 'mute', connectMs: 600 })).rejects.toMatchObject({
    code: 'timeout',
    message: "the MCP server 'mute' did not answer within 600 ms",
  })
})

test('a server that exits at once is reported with its last output', async () => {
  const failure = await mcp({ ...rawServer('crashes'), name: 'db' }).catch((error: Error) => error)
  expect(failure).toMatchObject({ code: 'tool_failed', op: 'mcp.connect' })
  const [first, ...lines] = (failure as Error).message.split('\n')
  expect(first).toBe("the MCP server 'db' exited before it responded. Last output on stderr:")
  expect(lines).toHaveLength(20)
  expect(lines.at(-1)).toBe('cannot open the database, line 30')
})

test('a server that exits while listing its tools is an error', async () => {
  await expect(mcp({ ...rawServer('ends-at-list'), name: 'x' })).rejects.toThrow(
    "the MCP server 'x' exited before it responded",
  )
})

test('the output of a crashing server is in the error, and one that keeps crashing is not restarted for a while', async () => {
  const box = await connected(rawServer('plain'))
  const dying = () => call(box, 'die').catch((error: Error) => error.message)
  expect(await dying()).toBe(
    "the MCP server 'raw' exited during the call: it is unknown whether the call took effect. Last output on stderr:\nout of paper",
  )
  expect(await dying()).toContain('exited during the call')
  expect(await dying()).toMatch(
    /^the MCP server exited immediately\. Last output on stderr:\nout of paper\nIt will not be restarted for another 1 s$/,
  )
  expect(box.tools).toHaveLength(4)
})

test('a tool exists whatever its schema', async () => {
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

test('an endless list is rejected', async () => {
  await expect(mcp(rawServer('endless'))).rejects.toThrow(/listMaxPages \(100\)/)
})

test('a server that asks in a wrong way, or what is not allowed, gets an error and continues', async () => {
  const box = await connected(rawServer('plain'))
  expect(await call(box, 'ask')).toBe('failed with -32602,-32601,-32601')
})

test('a call times out, and the server is available for the next', async () => {
  const box = await connected({ ...rawServer('plain'), timeoutMs: 1000 })
  await expect(call(box, 'late')).rejects.toThrow(
    "the MCP server 'raw' did not answer within 1000 ms: it is unknown whether the call took effect",
  )
  expect(await call(box, 'pids')).toMatch(/^\[/)
})

test('only the selected tools are used, and a missing one is an error', async () => {
  const box = await connected({ ...rawServer('plain'), tools: ['ask', 'pids'] })
  expect(box.tools.map(({ name }) => name)).toEqual(['pids', 'ask'])
  await expect(mcp({ ...rawServer('plain'), name: 'raw', tools: ['aks'] })).rejects.toMatchObject({
    code: 'invalid_input',
    message: "the MCP server 'raw' has no tool 'aks': did you mean 'ask'?",
  })
})

test('stderr of a server is logged', async () => {
  const onLog = vi.fn()
  await mcp({ ...rawServer('crashes'), onLog }).catch(() => {})
  expect(onLog).toHaveBeenCalledWith({ from: 'stderr', text: 'cannot open the database, line 1' })
})
