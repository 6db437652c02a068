import { agent } from 'millrace'
import { script, scriptedModel } from 'millrace/testing'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { toolContext } from '../../../millrace/src/tools/tool-context.test-kit.ts'
import { type McpToolbox, mcp } from '../mcp.ts'
import { call, gone, type KitServer, kitServer } from './kit.test-kit.ts'
import { png } from './server-tools.test-kit.ts'

const kinds = [
  { kind: 'new-stdio', protocol: '2026-07-28' },
  { kind: 'old-stdio', protocol: '2025-11-25' },
  { kind: 'new-http', protocol: '2026-07-28' },
  { kind: 'old-http', protocol: '2025-11-25' },
  // Without sessions it can neither receive cancellations nor announce changes.
  { kind: 'old-stateless', protocol: '2025-11-25', isMute: true },
  { kind: 'old-sse', protocol: '2025-11-25' },
]

const patient = { timeout: 20_000, interval: 30 }

// One server for each kind, shared by the tests.
describe.each(kinds)('a server of the official SDK, $kind', ({ kind, protocol, isMute = false }) => {
  let server: KitServer
  let box: McpToolbox
  const onChange = vi.fn()
  beforeAll(async () => {
    server = await kitServer(kind)
    box = await mcp({ ...server.options, name: 'my', onChange })
  })
  afterAll(async () => {
    server.stop()
    await box.close()
  })

  const seen = async (): Promise<{ started: number; canceled: number; pid: number }> =>
    JSON.parse(String(await call(box, 'my_seen')))

  /** A running call of a tool that ends when it is canceled. */
  async function waiting(signal = new AbortController().signal): Promise<Promise<unknown>[]> {
    const { started } = await seen()
    const result = call(box, 'my_wait', {}, toolContext({ signal }))
    result.catch(() => {})
    await vi.waitUntil(async () => (await seen()).started > started, patient)
    return [result]
  }

  const hasLate = () => box.tools.some(({ name }) => name === 'my_late')

  test('its tools have descriptions and schemas', async () => {
    expect(box.server).toMatchObject({ name: 'kit', protocol, instructions: 'Be gentle' })
    expect(box.tools.find(({ name }) => name === 'my_echo')).toMatchObject({
      description: 'Says it again',
      inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    })
    expect(await call(box, 'my_echo', { text: 'hello' })).toBe('echo hello')
  })

  test('progress is passed on, even if it arrives with the result', async () => {
    const context = toolContext()
    expect(await call(box, 'my_count', { to: 3 }, context)).toBe('counted to 3')
    expect(context.progressed).toEqual(
      [1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress}` })),
    )
  })

  test('text, images, audio and structured results reach the model once, and errors as errors', async () => {
    const calls = [
      ['my_picture', {}],
      ['my_weather', {}],
      ['my_bare', {}],
      ['my_fail', {}],
      ['my_echo', { text: 3 }],
    ] as const
    const model = scriptedModel(script.parallel(calls, 'Done.'))
    const results: Record<string, unknown> = {}
    for await (const event of agent({ model, tools: [box] }).stream('Look.'))
      if (event.type === 'tool-result') results[event.name] = event
    expect(results).toMatchObject({
      my_picture: {
        isError: false,
        output: [
          { type: 'text', text: 'a pixel' },
          { type: 'image', data: png, mediaType: 'image/png' },
          { type: 'text', text: '[audio, 3 KB, audio/wav: not shown]' },
        ],
      },
      my_weather: { output: [{ type: 'text', text: '{"degrees":21}' }] },
      my_bare: { output: [{ type: 'json', value: { degrees: 7 } }] },
      my_fail: { isError: true, output: [{ type: 'text', text: 'The tool failed: there is no such city' }] },
      my_echo: { isError: true },
    })
  })

  if (!isMute)
    test('a canceled call is canceled at the server', async () => {
      const controller = new AbortController()
      const [result] = await waiting(controller.signal)
      const { canceled } = await seen()
      controller.abort(new Error('enough'))
      await expect(result).rejects.toThrow('enough')
      await vi.waitUntil(async () => (await seen()).canceled > canceled, patient)
    })

  if (!isMute)
    test('a new tool is added, and the others stay the same', async () => {
      const before = box.tools
      expect(onChange).not.toHaveBeenCalled()
      await call(box, 'my_grow')
      await vi.waitUntil(hasLate, patient)
      expect(onChange.mock.lastCall?.[0]).toBe(box.tools)
      expect(before.every((tool) => box.tools.includes(tool))).toBe(true)
      expect(await call(box, 'my_late')).toBe('I am new')
    })

  test('a killed server fails its call, and is back for the next', async () => {
    const { pid } = await seen()
    const [result] = await waiting()
    await server.kill(pid)
    await expect(result).rejects.toThrow(
      "the MCP server 'my' exited during the call: it is unknown whether the call took effect",
    )
    expect(await call(box, 'my_echo', { text: 'again' })).toBe('echo again')
    expect((await seen()).pid).not.toBe(pid)
    if (isMute) return
    // Its tools are listed again, and later changes are noticed.
    await vi.waitUntil(() => !hasLate(), patient)
    await call(box, 'my_grow')
    await vi.waitUntil(hasLate, patient)
  })

  test('close ends it, and later calls say so', async () => {
    const { pid } = await seen()
    await Promise.all([box.close(), box.close()])
    if ('command' in server.options) await gone(pid)
    await expect(call(box, 'my_echo', { text: 'x' })).rejects.toThrow('closed by the application')
  })
})
