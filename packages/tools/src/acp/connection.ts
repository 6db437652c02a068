import type {
  AgentContext,
  ClientCapabilities,
  NewSessionRequest,
  SessionConfigOption,
  Stream,
} from '@agentclientprotocol/sdk'
import type { App } from 'millrace'
import { isMillraceError, MillraceError } from 'millrace'
import { invalidInput, messageOf } from 'millrace/internal'
import { choicesOf, listSessions, modelsOf, savedIn } from './choices.ts'
import type { Sdk } from './sdk.ts'
import type { Session, SessionOptions } from './session.ts'
import { openSession } from './session.ts'

export interface ConnectionOptions {
  readonly sdk: Sdk
  readonly app: App
  readonly info: { readonly name: string; readonly version: string }
  /** The sessions that are open, by their thread. */
  readonly open: Map<string, Session>
  readonly onError: (error: unknown) => void
}

/** Serves one editor. */
export function connectEditor({ sdk, app, info, open, onError }: ConnectionOptions, stream: Stream) {
  let capabilities: ClientCapabilities = {}
  const editor = sdk
    .agent({ name: info.name })
    .onRequest('initialize', ({ params }) => {
      capabilities = params.clientCapabilities ?? {}
      return {
        protocolVersion: sdk.PROTOCOL_VERSION,
        agentInfo: info,
        authMethods: [],
        agentCapabilities: {
          loadSession: true,
          promptCapabilities: { image: true, embeddedContext: true },
          mcpCapabilities: { http: true, sse: true },
          sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
        },
      }
    })
    .onRequest('session/new', ({ params, client }) => handle(() => create(client, params)))
    .onRequest('session/load', ({ params: { sessionId, ...params }, client }) =>
      handle(() => join(client, sessionId, { ...params, replay: true })),
    )
    .onRequest('session/resume', ({ params: { sessionId, ...params }, client }) =>
      handle(() => join(client, sessionId, { mcpServers: [], ...params, replay: false })),
    )
    .onRequest('session/list', ({ params }) => handle(() => listSessions(app, params)))
    .onRequest('session/prompt', ({ params: { sessionId, prompt }, signal }) =>
      handle(async () => {
        const session = sessionOf(sessionId)
        signal.addEventListener('abort', () => {
          // Also aborted when the editor disconnects: the run then continues.
          if (!connection.signal.aborted) void session.cancel().catch(onError)
        })
        return session.prompt(prompt)
      }),
    )
    .onNotification('session/cancel', async ({ params: { sessionId } }) => {
      await open.get(sessionId)?.cancel().catch(onError)
    })
    .onRequest('session/set_mode', ({ params: { sessionId, modeId }, client }) =>
      handle(async () => {
        const { configOptions } = await choose(client, sessionId, 'mode', modeId)
        await sessionOf(sessionId).send({ sessionUpdate: 'config_option_update', configOptions })
        return {}
      }),
    )
    .onRequest('session/set_config_option', ({ params: { sessionId, configId, value }, client }) =>
      handle(async () => {
        const { configOptions, modes } = await choose(client, sessionId, configId, value)
        if (configId === 'mode')
          await sessionOf(sessionId).send({
            sessionUpdate: 'current_mode_update',
            currentModeId: modes.currentModeId,
          })
        return { configOptions }
      }),
    )
    .onRequest('session/close', ({ params: { sessionId } }) =>
      handle(async () => {
        await sessionOf(sessionId).cancel()
        await leave(sessionId)
        return {}
      }),
    )
    .onRequest('session/delete', ({ params: { sessionId } }) =>
      handle(async () => {
        await leave(sessionId)
        if (!(await app.thread(sessionId).delete())) throw notFound(`there is no session '${sessionId}'`)
        return {}
      }),
    )
  const connection = editor.connect(stream)
  return connection

  async function handle<Result>(run: () => Promise<Result>): Promise<Result> {
    try {
      return await run()
    } catch (error) {
      throw requestError(sdk, error)
    }
  }

  function sessionOf(sessionId: string): Session {
    const session = open.get(sessionId)
    if (session) return session
    throw notFound(`the session '${sessionId}' is not open: load or resume it first`)
  }

  async function create(client: AgentContext, { cwd, mcpServers }: NewSessionRequest) {
    const thread = app.thread(undefined, { metadata: { acp: { cwd } } })
    await thread.create()
    return join(client, thread.id, { cwd, mcpServers, replay: false })
  }

  async function join(
    client: AgentContext,
    id: string,
    how: Pick<SessionOptions, 'cwd' | 'mcpServers' | 'replay'>,
  ) {
    const thread = app.thread(id)
    const info = await thread.info()
    await leave(id)
    const { mode, model } = savedIn(info)
    // The agent may have other models than before.
    const known = modelsOf(app, info.agent).find((one) => one === model)
    const { cwd, mcpServers, replay } = how
    const session = await openSession({
      ...{ thread, client, capabilities, cwd, mcpServers, replay, onError },
      settings: { mode, model: known },
      disconnected: connection.signal,
    })
    open.set(id, session)
    return { sessionId: id, ...choicesOf(app, info, session.settings) }
  }

  async function leave(id: string) {
    const session = open.get(id)
    open.delete(id)
    session?.close()
    await session?.servers.close()
  }

  async function choose(client: AgentContext, sessionId: string, id: string, value: unknown) {
    const session = sessionOf(sessionId)
    const before = choicesOf(app, await session.thread.info(), session.settings).configOptions
    const values = valuesOf(before.find((option) => option.id === id))
    if (!values.includes(value))
      throw invalidInput('acp', `there is no ${id} '${value}'. The choices are: ${values.join(', ')}`)
    if (id === 'agent') await useAgent(client, session, value as string)
    else await session.configure({ [id]: value })
    const now = sessionOf(sessionId)
    return choicesOf(app, await now.thread.info(), now.settings)
  }

  /** The agent of a thread cannot change, so a session without messages gets another thread. */
  async function useAgent(client: AgentContext, { thread, cwd, mcpServers }: Session, agent: string) {
    const { title, metadata, ...info } = await thread.info()
    if (info.agent === agent) return
    if (title !== undefined)
      throw invalidInput('acp', 'a session keeps its agent: start a new one to use another agent')
    await leave(thread.id)
    await thread.delete()
    await app.thread(thread.id, { agent, ...(metadata && { metadata }) }).create()
    await join(client, thread.id, { cwd, mcpServers, replay: false })
  }
}

function valuesOf(option: SessionConfigOption | undefined): unknown[] {
  return option?.type === 'select' ? option.options.map((one) => 'value' in one && one.value) : []
}

const notFound = (message: string) => new MillraceError({ op: 'acp', code: 'not_found', message })

/** The codes of JSON-RPC and of the protocol. */
const codes: Readonly<Record<string, number>> = { invalid_input: -32602, not_found: -32002, auth: -32000 }

function requestError({ RequestError }: Sdk, error: unknown): Error {
  if (error instanceof RequestError) return error
  const code = isMillraceError(error) ? error.code : 'internal'
  return new RequestError(codes[code] ?? -32603, messageOf(error), { code })
}
