import type { OptionTable } from '../protocol/index.ts'
import { checkOptions, invalidInput, someText } from '../protocol/index.ts'
import { millraceSocket, millraceSse } from '../protocols/index.ts'
import type { App } from '../threads/index.ts'
import { addressOf } from './address.ts'
import type { ListeningServer } from './listen.ts'
import { mountProtocols } from './mount.ts'
import type { ServerOptions } from './options.ts'
import { readServerOptions } from './options.ts'
import { isLoopback } from './origin-check.ts'
import { pageRoutes } from './page.ts'
import { rejectionDelay } from './rejection-delay.ts'
import { allRoutes, healthRoutes } from './routes.ts'

export interface ListenOptions {
  /** Defaults to a free port. */
  readonly port?: number | undefined
  /** Defaults to `127.0.0.1`. Any address other than loopback requires `auth`. */
  readonly host?: string | undefined
}

/** An app with a server. */
export interface ServedApp extends App {
  /**
   * Answers a request, in any runtime that has `Request` and `Response`. Never rejects. WebSockets
   * need `listen`. Limits by address only work if `remoteAddress` is passed.
   */
  fetch(request: Request, from?: { readonly remoteAddress?: string | undefined }): Promise<Response>
  /** Starts an HTTP server on Node, including WebSockets. */
  listen(options?: ListenOptions): Promise<ListeningServer>
  /**
   * Ends all streams of a user in this process at once: server-sent events, WebSockets, voice, MCP.
   * Returns how many there were. Make `auth` reject the user first: a client whose sign-in is still
   * valid reconnects. Other processes end their streams within `recheckMs`.
   */
  signOut(user: string): number
  /**
   * Stops starting runs, tells followers that the server is going away, gives running work
   * `graceMs` to reach a durable point, then cuts off the rest.
   */
  close(options?: { readonly graceMs?: number | undefined }): Promise<void>
}

const listenTable: OptionTable<ListenOptions> = {
  port: (value) =>
    !(Number.isInteger(value) && Number(value) >= 0 && Number(value) < 65_536) &&
    'must be a port, 0 to 65535',
  host: someText,
}

/** Adds a server to an app. */
export function serveApp(app: App, options: ServerOptions = {}): ServedApp {
  const settings = readServerOptions(options, 'serve')
  const { auth, clients, limits, voice, onError } = settings
  if (options.limits?.bufferBytes !== undefined) app.buffer.limit = limits.bufferBytes
  const listeners = new Set<Promise<ListeningServer>>()
  let closing: Promise<void> | undefined
  const mounted = mountProtocols(app, {
    settings,
    protocols: clients ? [millraceSse(), millraceSocket({ voice }), ...settings.protocols] : [],
    ownRoutes: (shared) =>
      clients
        ? [...(settings.page ? pageRoutes() : []), ...allRoutes(app, { ...settings, ...shared })]
        : healthRoutes(app),
    isClosing: () => closing !== undefined,
  })
  const { handle, shared, signOut } = mounted

  /** Loads the modules that need Node on demand. */
  async function listen(port: number, host: string): Promise<ListeningServer> {
    const [{ listenOnNode }, { upgrades }, proxy] = await Promise.all([
      import('./listen.ts'),
      import('./upgrade.ts'),
      import('./proxy.ts'),
      mounted.ready(),
      // Tools that cannot work on this machine fail now, before a client relies on them.
      ...app.agents.map((name) => app.notices(name)),
    ])
    const { headerBytes, connections } = limits
    const { stuckMs, trustProxy } = settings
    const clientAddress = proxy.clientAddress(trustProxy)
    const delayRejection = rejectionDelay()
    const upgrade = upgrades({ ...shared, clientAddress, delayRejection })
    return listenOnNode({
      ...{
        port,
        host,
        headerBytes,
        connections,
        stuckMs,
        handle,
        clientAddress,
        delayRejection,
        upgrade,
        onError,
      },
      connectionsPerAddress: trustProxy === false ? limits.connectionsPerAddress : connections,
    })
  }

  async function close(options?: { readonly graceMs?: number | undefined }) {
    // First, so that clients learn why their streams end.
    await mounted.close()
    const closed = [...listeners].map(async (listener) => (await listener).close())
    await app.close(options)
    await Promise.allSettled(closed)
  }

  return {
    ...app,
    fetch(request, from) {
      // A runtime that is passed `fetch` itself may call it with other arguments.
      const remote: unknown = from?.remoteAddress
      return handle(request, undefined, typeof remote === 'string' ? addressOf(remote) : undefined)
    },
    async listen(options = {}) {
      const op = 'app.listen'
      checkOptions(options, listenTable, { op, what: 'the option' })
      const { port = 0, host = '127.0.0.1' } = options
      if (closing) throw invalidInput(op, 'the app is closed')
      if (clients && auth === undefined && !isLoopback(host))
        throw invalidInput(
          op,
          `without auth, anyone who can reach '${host}' can see everything: set the auth option, or auth: false to allow this`,
        )
      const listening = listen(port, host)
      listeners.add(listening)
      listening.catch(() => listeners.delete(listening))
      return listening
    },
    signOut,
    close(options) {
      closing ??= close(options)
      return closing
    },
  }
}
