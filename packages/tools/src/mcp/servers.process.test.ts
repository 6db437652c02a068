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
  // Without sessions it has nowhere to hear of a cancellation, nor to tell of a change.
  { kind: 'old-stateless', protocol: '2025-11-25', isMute: true },
  { kind: 'old-sse', protocol: '2025-11-25' },
]

const patient = { timeout: 20_000, interval: 30 }

// One server for each kind, used up from test to test.
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

  const seen = async (): Promise<{ begun: number; cancelled: number; pid: number }> =>
    JSON.parse(String(await call(box, 'my_seen')))

  /** A call of a tool that ends when it is cancelled, once it runs. */
  async function waiting(signal = new AbortController().signal): Promise<Promise<unknown>[]> {
    const { begun } = await seen()
    const result = call(box, 'my_wait', {}, toolContext({ signal }))
    result.catch(() => {})
    await vi.waitUntil(async () => (await seen()).begun > begun, patient)
    return [result]
  }

  const hasLate = () => box.tools.some(({ name }) => name === 'my_late')

  test('its tools are ours and say what they take', async () => {
    expect(box.server).toMatchObject({ name: 'kit', protocol, instructions: 'Be gentle' })
    expect(box.tools.find(({ name }) => name === 'my_echo')).toMatchObject({
      description: 'Says it again',
      inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    })
    expect(await call(box, 'my_echo', { text: 'hello' })).toBe('echo hello')
  })

  test('progress is passed on, also what comes together with the result', async () => {
    const context = toolContext()
    expect(await call(box, 'my_count', { to: 3 }, context)).toBe('counted to 3')
    expect(context.progressed).toEqual(
      [1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress}` })),
    )
  })

  test('text, images, sounds and structured results reach the model once, a failure as a failure', async () => {
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
    test('a call that is given up is cancelled at the server', async () => {
      const controller = new AbortController()
      const [result] = await waiting(controller.signal)
      const { cancelled } = await seen()
      controller.abort(new Error('enough'))
      await expect(result).rejects.toThrow('enough')
      await vi.waitUntil(async () => (await seen()).cancelled > cancelled, patient)
    })

  if (!isMute)
    test('a tool that comes later is heard of, and those that stay are the same', async () => {
      const before = box.tools
      expect(onChange).not.toHaveBeenCalled()
      await call(box, 'my_grow')
      await vi.waitUntil(hasLate, patient)
      expect(onChange.mock.lastCall?.[0]).toBe(box.tools)
      expect(before.every((tool) => box.tools.includes(tool))).toBe(true)
      expect(await call(box, 'my_late')).toBe('I am new')
    })

  test('a server that is killed is told of in the call it had, and is there again for the next', async () => {
    const { pid } = await seen()
    const [result] = await waiting()
    await server.kill(pid)
    await expect(result).rejects.toThrow(
      "the MCP server 'my' ended while it ran: whether it took effect is unknown",
    )
    expect(await call(box, 'my_echo', { text: 'again' })).toBe('echo again')
    expect((await seen()).pid).not.toBe(pid)
    if (isMute) return
    // What it has now is listed anew, and what changes from then on is heard.
    await vi.waitUntil(() => !hasLate(), patient)
    await call(box, 'my_grow')
    await vi.waitUntil(hasLate, patient)
  })

  test('close ends it, and what is called after that says so', async () => {
    const { pid } = await seen()
    await Promise.all([box.close(), box.close()])
    if ('command' in server.options) await gone(pid)
    await expect(call(box, 'my_echo', { text: 'x' })).rejects.toThrow('closed by its owner')
  })
})
