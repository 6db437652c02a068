import { invalidInput, publicError } from '../protocol/index.ts'
import type { MountedProtocol, Protocol, ProtocolHost, Route } from '../protocols/index.ts'
import { reportOf } from '../protocols/index.ts'
import type { App } from '../threads/index.ts'
import { admission } from './admission.ts'
import { guard } from './guard.ts'
import { httpHandler } from './handler.ts'
import type { ServerSettings } from './options.ts'
import { router } from './router.ts'
import { openStreams } from './streams.ts'
import { visitors } from './visitors.ts'

export interface MountOptions {
  readonly settings: ServerSettings
  readonly protocols: readonly Protocol[]
  /** What the server answers itself. */
  readonly ownRoutes: (shared: OwnRoutesOptions) => readonly Route[]
  /** Whether the server is being closed: nothing is begun any more. */
  readonly isClosing: () => boolean
}

interface OwnRoutesOptions {
  readonly streams: ReturnType<typeof openStreams>
  readonly admission: ReturnType<typeof admission>
  readonly protocolRoutes: readonly Route[]
}

/** Puts protocols before an app. Throws `invalid_input` if one does not fit. */
export function mountProtocols(app: App, { settings, protocols, ownRoutes, isClosing }: MountOptions) {
  const { limits, heartbeatMs, stuckMs } = settings
  const onError: ProtocolHost['onError'] = (error, id) => settings.onError(reportOf(error, id))
  const host: ProtocolHost = {
    agents: app.agents,
    limits,
    heartbeatMs,
    stuckMs,
    publicError: (thrown) => publicError(thrown, onError),
    onError,
  }
  const twice = protocols.find(({ name }, at) => protocols.findIndex((one) => one.name === name) !== at)
  if (twice) throw invalidInput('serve', `protocols: there are two of the name '${twice.name}'`)
  const mounted: readonly MountedProtocol[] = protocols.map((protocol) => protocol.mount(host))
  const streams = openStreams({ most: limits.connections, perCaller: limits.streams, onRefused: app.refused })
  const admitted = admission({ limits, buffer: app.buffer, onRefused: app.refused })
  const own = ownRoutes({
    streams,
    admission: admitted,
    protocolRoutes: mounted.flatMap(({ routes }) => routes),
  })
  const { identify, signOut } = visitors({ ...settings, ...limits, app })
  const shared = {
    router: router([{ routes: own }, ...mounted]),
    guard: guard(settings),
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
    /** The protocols first, so that they can say something before their streams end. */
    async close() {
      await Promise.all(mounted.map((protocol) => protocol.close?.()))
      streams.endAll()
    },
  }
}
