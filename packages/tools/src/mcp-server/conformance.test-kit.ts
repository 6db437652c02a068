// Run as a program: `node --conditions=@millrace/source conformance.test-kit.ts`. A server whose agents
// stand in for the tools that the official conformance suite calls. Prints its address.
import { agent, tool } from 'millrace'
import type { Protocol, RouteContext } from 'millrace/server'
import { serve } from 'millrace/server'
import { type ScriptStep, scriptedModel } from 'millrace/testing'
import { mcpProtocol } from '../mcp.ts'

type Input = Readonly<Record<string, unknown>>

const noInput = { jsonSchema: { type: 'object' } }

/** An agent that does what its input says, which is the arguments of the suite's tool. */
function standIn(answer: (input: Input) => string | ScriptStep[], calls: readonly string[] = []) {
  const model = scriptedModel(({ messages }) => {
    const last = messages.at(-1)
    if (last?.role !== 'user') return 'Done.'
    const [part] = [last.content].flat()
    const text = typeof part === 'string' ? part : part?.type === 'text' ? part.text : '{}'
    return calls.length > 0 ? calls.map((call) => ({ call })) : answer(JSON.parse(text))
  })
  const tools = calls.map((name) =>
    tool({ name, description: 'Asks first', input: noInput, approve: true, run: () => 'done' }),
  )
  return agent({ model, tools, retry: { attempts: 1 } })
}

const agents = {
  greet: standIn(({ name }) => `Hello, ${name}!`),
  slow_compute: standIn(({ seconds }) => [{ pause: Number(seconds) * 1000 }, { text: 'Computed.' }]),
  failing_job: standIn(() => [{ pause: 1000 }, { error: { message: 'the job failed' } }]),
  protocol_error_job: standIn(() => [{ pause: 500 }, { error: { message: 'the job failed' } }]),
  confirm_delete: standIn(() => '', ['delete_file']),
  multi_input: standIn(() => '', ['first', 'second']),
  test_simple_text: standIn(() => 'This is a simple text response for testing.'),
  test_error_handling: standIn(() => [{ error: { message: 'this tool always fails' } }]),
  test_tool_with_progress: standIn(() => [
    { text: 'One ' },
    { pause: 150 },
    { text: 'two ' },
    { pause: 150 },
    { text: 'three.' },
  ]),
  test_elicitation: standIn(() => '', ['ask']),
  test_streaming_elicitation: standIn(() => '', ['ask']),
  test_logging_tool: standIn(() => 'Done.'),
  test_input_required_result_request_state: standIn(() => '', ['ask']),
  test_input_required_result_tampered_state: standIn(() => '', ['ask']),
  test_input_required_result_elicitation: standIn(() => '', ['ask']),
}

/** The suite sends the arguments of its own tools: they become the prompt. */
function withPrompts(protocol: Protocol): Protocol {
  const readBody = async (call: RouteContext) => {
    const body = await call.readBody()
    try {
      const message = JSON.parse(new TextDecoder().decode(body))
      if (message.method !== 'tools/call') return body
      message.params.arguments = { prompt: JSON.stringify(message.params.arguments ?? {}) }
      return new TextEncoder().encode(JSON.stringify(message))
    } catch {
      return body
    }
  }
  return {
    name: protocol.name,
    mount(host) {
      const mounted = protocol.mount(host)
      return {
        ...mounted,
        routes: mounted.routes.map(({ handle, ...route }) => ({
          ...route,
          handle: (call) => handle?.({ ...call, readBody: () => readBody(call) }) as Promise<Response>,
        })),
      }
    },
  }
}

const app = serve({ agents, protocols: [withPrompts(mcpProtocol({ taskAfterMs: 300 }))], flushMs: 0 })
const { url } = await app.listen()
process.stdout.write(`${url}/mcp\n`)
process.stdin.on('end', () => process.exit()).resume()
