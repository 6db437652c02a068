import { closest, invalidInput, publicError } from '../protocol/index.ts'
import type { ClientOptions, MountedProtocol, Protocol, ProtocolHost, Route } from '../protocols/index.ts'
import { defaultClientOptions, errorReport, inspectorOptions } from '../protocols/index.ts'
import type { App } from '../threads/index.ts'
import { admission } from './admission.ts'
import { infoOf } from './agent-routes.ts'
import { callers } from './callers.ts'
import { httpHandler } from './handler.ts'
import type { ServerSettings } from './options.ts'
import { originCheck } from './origin-check.ts'
import { publicThread } from './public-thread.ts'
import { router } from './router.ts'
import { openStreams } from './streams.ts'

export interface MountOptions {
  readonly settings: ServerSettings
  readonly protocols: readonly Protocol[]
  /** The routes of the server itself. */
  readonly ownRoutes: (shared: OwnRoutesOptions) => readonly Route[]
  /** Whether the server is closing: new requests are rejected. */
  readonly isClosing: () => boolean
}

interface OwnRoutesOptions {
  readonly streams: ReturnType<typeof openStreams>
  readonly admission: ReturnType<typeof admission>
  readonly protocolRoutes: readonly Route[]
  readonly clientOptions: ClientOptions
}

/** Mounts protocols on an app. Throws `invalid_input` if one does not fit. */
export function mountProtocols(app: App, { settings, protocols, ownRoutes, isClosing }: MountOptions) {
  const { limits, heartbeatMs, stuckMs } = settings
  const { agents } = app
  const clientOptions = clientOptionsOf(settings, agents)
  const onError: ProtocolHost['onError'] = (error, id) => settings.onError(errorReport(error, id))
  const host: ProtocolHost = {
    agents,
    limits,
    heartbeatMs,
    stuckMs,
    clientOptions,
    authenticates: Boolean(settings.auth),
    describe: (agent) => infoOf(app.describe(agent)),
    openThread: (id) => (settings.auth ? publicThread(app.thread(id), {}) : app.thread(id)),
    publicError: (thrown) => publicError(thrown, onError),
    onError,
  }
  const duplicate = protocols.find(({ name }, at) => protocols.findIndex((one) => one.name === name) !== at)
  if (duplicate) throw invalidInput('serve', `protocols: two protocols are named '${duplicate.name}'`)
  const mounted: readonly MountedProtocol[] = protocols.map((protocol) => protocol.mount(host))
  const streams = openStreams({
    max: limits.connections,
    perCaller: limits.streams,
    onRejected: app.rejected,
  })
  const admitted = admission({ limits, buffer: app.buffer, onRejected: app.rejected })
  const own = ownRoutes({
    streams,
    admission: admitted,
    protocolRoutes: mounted.flatMap(({ routes }) => routes),
    clientOptions,
  })
  const { identify, signOut } = callers({ ...settings, ...limits, app })
  const shared = {
    router: router([{ routes: own }, ...mounted]),
    originCheck: originCheck(settings),
    identify,
    streams,
    admission: admitted,
    limits,
    isClosing,
    onError: settings.onError,
  }
  return {
    handle: httpHandler({ ...shared, heartbeatMs, stuckMs, bodyBytes: limits.bodyBytes }),
    shared,
    signOut,
    async ready() {
      await Promise.all(mounted.map((protocol) => protocol.ready?.()))
    },
    /**
     * Closes the protocols first, so that they can still send something before their streams end.
     */
    async close() {
      await Promise.all(mounted.map((protocol) => protocol.close?.()))
      streams.endAll()
    },
  }
}

/** Throws `invalid_input` if the option names an agent that the app does not have. */
function clientOptionsOf({ auth, clientOptions }: ServerSettings, agents: readonly string[]): ClientOptions {
  const named = Array.isArray(clientOptions) ? {} : clientOptions
  const unknown = Object.keys(named).find((name) => !agents.includes(name))
  if (unknown !== undefined) {
    const like = closest(unknown, agents)
    const suggestion = like ? ` Did you mean '${like}'?` : ''
    throw invalidInput(
      'serve',
      `the option 'clientOptions' names the agent '${unknown}', which does not exist.${suggestion} Agents: ${agents.join(', ')}`,
    )
  }
  const others = new Set(Array.isArray(clientOptions) ? clientOptions : defaultClientOptions)
  const byAgent = new Map(Object.entries(named).map(([name, options]) => [name, new Set(options)]))
  // Without `auth` every caller may inspect, so that an option that was set would mean nothing.
  const isBinding = !auth && clientOptions !== defaultClientOptions
  return (agent, caller) =>
    caller?.canInspect && !isBinding ? inspectorOptions : (byAgent.get(agent) ?? others)
}
