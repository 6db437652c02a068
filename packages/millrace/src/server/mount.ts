import { invalidInput, publicError } from '../protocol/index.ts'
import type { MountedProtocol, Protocol, ProtocolHost, Route } from '../protocols/index.ts'
import { errorReport } from '../protocols/index.ts'
import type { App } from '../threads/index.ts'
import { admission } from './admission.ts'
import { callers } from './callers.ts'
import { httpHandler } from './handler.ts'
import type { ServerSettings } from './options.ts'
import { originCheck } from './origin-check.ts'
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
}

/** Mounts protocols on an app. Throws `invalid_input` if one does not fit. */
export function mountProtocols(app: App, { settings, protocols, ownRoutes, isClosing }: MountOptions) {
  const { limits, heartbeatMs, stuckMs, clientOptions } = settings
  const onError: ProtocolHost['onError'] = (error, id) => settings.onError(errorReport(error, id))
  const host: ProtocolHost = {
    agents: app.agents,
    limits,
    heartbeatMs,
    stuckMs,
    clientOptions,
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
