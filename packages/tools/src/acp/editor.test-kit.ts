import { PassThrough, Readable, Writable } from 'node:stream'
import type {
  ClientApp,
  ClientCapabilities,
  ContentBlock,
  McpServer,
  RequestPermissionRequest,
  SessionUpdate,
  ToolCallUpdate,
} from '@agentclientprotocol/sdk'
import { client, ndJsonStream } from '@agentclientprotocol/sdk'
import type { AppOptions } from 'millrace'
import { millrace } from 'millrace'
import { expect, onTestFinished } from 'vitest'
import { acpServer } from '../acp.ts'

/** A question that the editor shows. */
interface Question extends RequestPermissionRequest {
  readonly signal: AbortSignal
  choose(optionId: string): void
}

interface EditorOptions {
  readonly capabilities?: ClientCapabilities
  /** The folder that is open. Default: that of this process. */
  readonly cwd?: string
  /** Registers more handlers: files, terminals. */
  readonly extend?: (app: ClientApp) => ClientApp
}

/** The official client, with what an editor shows. */
export function editorOver(
  { input, output }: { readonly input: Readable; readonly output: Writable },
  { capabilities = {}, cwd = process.cwd(), extend = (app) => app }: EditorOptions = {},
) {
  const updates: SessionUpdate[] = []
  const questions: Question[] = []
  const app = client()
    .onNotification('session/update', ({ params }) => void updates.push(params.update))
    .onRequest('session/request_permission', ({ params, signal }) => {
      const { promise, resolve } = Promise.withResolvers<string | undefined>()
      questions.push({ ...params, signal, choose: resolve })
      signal.addEventListener('abort', () => resolve(undefined))
      return promise.then((optionId) => ({
        outcome: optionId === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId },
      }))
    })
  const { agent } = extend(app).connect(
    ndJsonStream(Writable.toWeb(output), Readable.toWeb(input) as ReadableStream<Uint8Array>),
  )
  const where = { cwd }
  const initialize = () =>
    agent.request('initialize', { protocolVersion: 1, clientCapabilities: capabilities })

  return {
    agent,
    updates,
    questions,
    initialize,
    async open(mcpServers: McpServer[] = []) {
      await initialize()
      return (await agent.request('session/new', { ...where, mcpServers })).sessionId
    },
    load: (sessionId: string) => agent.request('session/load', { ...where, mcpServers: [], sessionId }),
    resume: (sessionId: string) => agent.request('session/resume', { ...where, sessionId }),
    prompt: (sessionId: string, prompt: string | ContentBlock[]) =>
      agent.request('session/prompt', {
        sessionId,
        prompt: typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : prompt,
      }),
    cancel: (sessionId: string) => agent.notify('session/cancel', { sessionId }),
    /** The next question. */
    async asked(count = 1): Promise<Question> {
      await expect.poll(() => questions.length).toBeGreaterThanOrEqual(count)
      return questions[count - 1] as Question
    },
    text: (
      kind: 'agent_message_chunk' | 'user_message_chunk' | 'agent_thought_chunk' = 'agent_message_chunk',
    ) =>
      updates
        .flatMap((one) =>
          one.sessionUpdate === kind && one.content.type === 'text' ? [one.content.text] : [],
        )
        .join(''),
    of: <Kind extends SessionUpdate['sessionUpdate']>(kind: Kind) =>
      updates.filter((one) => one.sessionUpdate === kind) as Extract<
        SessionUpdate,
        { sessionUpdate: Kind }
      >[],
    /** The calls as the editor shows them now: each update replaces fields. */
    calls() {
      const calls = new Map<string, ToolCallUpdate>()
      for (const update of updates)
        if (update.sessionUpdate === 'tool_call' || update.sessionUpdate === 'tool_call_update') {
          const { sessionUpdate, ...fields } = update
          expect(calls.has(update.toolCallId)).toBe(sessionUpdate === 'tool_call_update')
          calls.set(update.toolCallId, { ...calls.get(update.toolCallId), ...fields })
        }
      return [...calls.values()]
    },
  }
}

/** An editor that is connected to an app in this process. */
export function editorOf(
  agents: AppOptions['agents'],
  options: EditorOptions & Omit<AppOptions, 'agents'> = {},
) {
  const { capabilities, extend, ...rest } = options
  const app = millrace({ agents, ...rest })
  const server = acpServer(app)
  const connections: { end(): Promise<void> }[] = []

  function connect() {
    const [toAgent, toEditor] = [new PassThrough(), new PassThrough()]
    const serving = server.stdio({ stdin: toAgent, stdout: toEditor })
    connections.push({
      end() {
        toAgent.end()
        return serving
      },
    })
    return editorOver(
      { input: toEditor, output: toAgent },
      { ...(capabilities && { capabilities }), ...(extend && { extend }) },
    )
  }

  onTestFinished(async () => {
    await Promise.all(connections.map((connection) => connection.end()))
    await app.close({ graceMs: 0 })
    await server.close()
  })
  return { app, server, ...connect(), connect, disconnect: () => connections.at(-1)?.end() }
}
