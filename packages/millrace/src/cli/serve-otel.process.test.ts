import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { OtlpReceiver } from '../../../otel/src/otlp-receiver.test-kit.ts'
import { otlpReceiver, treeOf } from '../../../otel/src/otlp-receiver.test-kit.ts'
import type { Home } from './cli.test-kit.ts'
import { built, makeHome } from './cli.test-kit.ts'

// The tools of `desk` end when all three are running, so that they overlap. The tool of `stuck` never
// ends in the first process.
const agentsFile = `
  import { agent, tool } from ${JSON.stringify(built('index'))}
  import { scriptedModel } from ${JSON.stringify(built('testing/index'))}
  const input = { jsonSchema: { type: 'object' } } as const
  const gate = Promise.withResolvers<void>()
  let running = 0
  const look = (name: string) =>
    tool({ name, description: 'Looks', input, run: () => (++running === 3 && gate.resolve(), gate.promise.then(() => 'seen')) })
  const dig = tool({ name: 'dig', description: 'Digs', input, run: () => (process.stderr.write('digging\\n'), new Promise(() => {})) })
  const model = (...calls: string[]) =>
    scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? [{ text: 'All is well.' }, { usage: { inputTokens: 30, outputTokens: 3 } }]
        : [{ text: 'Let me look.' }, ...calls.map((call) => ({ call })), { usage: { inputTokens: 10, outputTokens: 5 } }],
    )
  export default {
    desk: agent({ name: 'desk', model: model('look_a', 'look_b', 'look_c'), tools: ['look_a', 'look_b', 'look_c'].map(look) }),
    stuck: agent({ name: 'stuck', model: model('dig'), tools: [dig] }),
  }
`

/** Makes every import of an OpenTelemetry package fail. */
const withoutPackages = `
  import { registerHooks } from 'node:module'
  registerHooks({
    resolve(name, context, next) {
      if (!name.startsWith('@opentelemetry/')) return next(name, context)
      throw Object.assign(new Error('Cannot find package ' + name), { code: 'ERR_MODULE_NOT_FOUND' })
    },
  })
`

const receivers: OtlpReceiver[] = []
afterAll(() => Promise.all(receivers.map((receiver) => receiver.close())))

async function receiving() {
  const receiver = await otlpReceiver()
  receivers.push(receiver)
  return receiver
}

function homeWithAgents(): Home {
  const home = makeHome()
  home.write('agents.ts', agentsFile)
  return home
}

async function serving(home: Home, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
  const server = home.start(['serve', 'agents.ts', ...args, '--port', '0'], { env })
  await server.see(/listening at http:\S+\n/)
  const [, url = ''] = /listening at (\S+)/.exec(server.stdout()) ?? []
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  return {
    ...server,
    post,
    /** Sends a message in a new thread, and returns the response. */
    async talk(headers: Record<string, string> = {}) {
      const { id } = (await (await post('/threads', {}, headers)).json()) as { id: string }
      const answer = await post(
        `/threads/${id}/messages`,
        { message: 'A secret message' },
        { accept: 'text/event-stream', ...headers },
      )
      return answer.text()
    },
    async end() {
      server.child.kill('SIGTERM')
      return server.ended
    },
  }
}

describe.concurrent('millrace serve --otel', () => {
  test('sends the spans and metrics of a run, at the latest on exit', async () => {
    const receiver = await receiving()
    const { talk, end, stderr } = await serving(homeWithAgents(), ['--otel', '--token', 's3cret'], {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url.replace('//', '//user:pass@'),
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    })
    const trace = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' }
    const answer = await talk({
      authorization: 'Bearer s3cret',
      traceparent: `00-${trace.traceId}-${trace.spanId}-01`,
    })
    expect(answer).toContain('All is well.')
    expect((await end()).exit).toBe(0)

    expect(treeOf(receiver.spans(), ({ kind, name }) => `${kind} ${name}`)).toBe(
      [
        'INTERNAL invoke_agent desk',
        '  CLIENT chat scripted',
        '  INTERNAL execute_tool look_a',
        '  INTERNAL execute_tool look_b',
        '  INTERNAL execute_tool look_c',
        '  CLIENT chat scripted',
      ].join('\n'),
    )
    const [run] = receiver.spans('invoke_agent desk')
    const tools = receiver.spans().filter(({ name }) => name.startsWith('execute_tool'))
    expect(run).toMatchObject({ traceId: trace.traceId, parentSpanId: trace.spanId, scope: 'millrace' })
    expect(Math.max(...tools.map(({ startMs }) => startMs))).toBeLessThanOrEqual(
      Math.min(...tools.map(({ endMs }) => endMs)),
    )
    expect(run?.resource).toMatchObject({
      'service.name': 'millrace',
      'service.version': expect.stringMatching(/^\d+\.\d+\.\d+/),
      'deployment.environment.name': 'test',
    })

    const total = (name: string) => receiver.points(name).reduce((sum, { value }) => sum + value, 0)
    expect(total('gen_ai.client.inference.usage.input_tokens')).toBe(40)
    expect(total('gen_ai.client.inference.usage.output_tokens')).toBe(8)
    expect(receiver.points('millrace.runs')).toMatchObject([
      { value: 1, attributes: { 'gen_ai.agent.name': 'desk', 'millrace.run.outcome': 'completed' } },
    ])
    expect(receiver.points('gen_ai.execute_tool.duration').map(({ count }) => count)).toEqual([1, 1, 1])

    expect(stderr()).toContain(`sending traces and metrics to ${receiver.url}\n`)
    expect(stderr()).not.toContain('pass')
    // Neither content nor the token is sent.
    expect(JSON.stringify([receiver.spans(), receiver.points()])).not.toMatch(
      /secret message|Let me look|s3cret/,
    )
    expect(receiver.requests[0]?.headers).toMatchObject({
      'content-type': 'application/x-protobuf',
      'content-encoding': 'gzip',
    })
  })

  test('sends content if the environment says so', async () => {
    const receiver = await receiving()
    const { talk, end } = await serving(homeWithAgents(), ['--otel'], {
      ...receiver.env,
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'SPAN_ONLY',
      MILLRACE_OTEL_CONVENTIONS: 'older',
      OTEL_SERVICE_NAME: 'front-desk',
    })
    await talk()
    await end()
    const [chat] = receiver.spans('chat scripted')
    expect(chat?.attributes['gen_ai.input.messages']).toContain('A secret message')
    expect(chat?.resource['service.name']).toBe('front-desk')
    expect(receiver.points('gen_ai.client.operation.duration')).toHaveLength(1)
    expect(receiver.points('gen_ai.client.inference.duration')).toEqual([])
  })

  test('a run that takes over from a dead process links to the run before', async () => {
    const receiver = await receiving()
    const home = homeWithAgents()
    const first = await serving(home, ['--otel'], receiver.env)
    await first.post('/threads', { id: 'mine', agent: 'stuck' })
    await first.post('/threads/mine/messages', { message: 'Dig' })
    await first.see('digging\n')
    // The span of the run is sent at its end, which it never has. A span inside it has its id.
    const before = await receiver.until(() => receiver.spans('chat scripted')[0])
    first.child.kill('SIGKILL')
    await first.ended

    const second = await serving(home, ['--otel'], receiver.env)
    const run = await receiver.until(() => receiver.spans('invoke_agent stuck')[0])
    await second.end()
    expect(run.links).toMatchObject([{ traceId: before.traceId, spanId: before.parentSpanId }])
    expect(run.spanId).not.toBe(before.parentSpanId)
    expect(run.attributes).toMatchObject({ 'millrace.run.outcome': 'completed', 'millrace.run.losses': 1 })
    const below = receiver.spans().filter(({ parentSpanId }) => parentSpanId === run.spanId)
    // They may start in the same millisecond.
    expect(below.map(({ name }) => name).toSorted()).toEqual(['chat scripted', 'execute_tool dig'])
    expect(receiver.spans('execute_tool dig')[0]?.attributes['millrace.tool.status']).toBe('unknown')
    expect(receiver.points('millrace.takeovers')).toMatchObject([{ value: 1 }])
  })

  test('a collector that rejects is reported once, without the key, and runs are not affected', async () => {
    const receiver = await receiving()
    receiver.answerWith(401)
    const { talk, end } = await serving(homeWithAgents(), ['--otel'], {
      ...receiver.env,
      OTEL_EXPORTER_OTLP_HEADERS: 'api-key=s3cret',
    })
    expect(await talk()).toContain('All is well.')
    await receiver.until(() => receiver.requests.length >= 4)
    expect(await talk()).toContain('All is well.')
    const { exit, stderr } = await end()
    expect(exit).toBe(0)
    expect(stderr.match(/^.*Unauthorized.*$/gm)).toEqual([
      'telemetry: Unauthorized (reported once; the server keeps running)',
    ])
    expect(receiver.requests[0]?.headers['api-key']).toBe('s3cret')
    expect(stderr).not.toContain('s3cret')
  })

  test('a collector that never responds does not keep the server from exiting', async () => {
    const receiver = await receiving()
    receiver.answerWith(0)
    const { talk, end } = await serving(homeWithAgents(), ['--otel'], {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    })
    expect(await talk()).toContain('All is well.')
    const { exit, stderr } = await end()
    expect(stderr).toContain(
      'telemetry: the collector did not respond within 5 s; the remaining data is lost\n',
    )
    expect(exit).toBe(0)
  })

  test('with the flag, missing packages are reported before anything is opened', async () => {
    const home = homeWithAgents()
    const env = { NODE_OPTIONS: `--import ${home.write('without.mjs', withoutPackages)}` }
    expect(await home.run(['serve', 'agents.ts', '--otel', '--data', 'kept.db'], { env })).toEqual({
      exit: 2,
      stdout: '',
      stderr:
        'millrace: --otel needs a package that is not installed: run npm install @millrace/otel @opentelemetry/sdk-node\n',
    })
    expect(existsSync(join(home.folder, 'kept.db'))).toBe(false)
    const { talk, end } = await serving(home, [], env)
    expect(await talk()).toContain('All is well.')
    expect((await end()).exit).toBe(0)
  })

  test('an invalid variable is rejected', async () => {
    const env = { MILLRACE_OTEL_CONVENTIONS: 'old' }
    expect(await homeWithAgents().run(['serve', 'agents.ts', '--otel'], { env })).toMatchObject({
      exit: 2,
      stderr: "millrace: MILLRACE_OTEL_CONVENTIONS must be one of current, older, both, not 'old'\n",
    })
  })
})
