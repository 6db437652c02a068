import type { OptionTable } from '../protocol/index.ts'
import { checkOptions, invalidInput, someText } from '../protocol/index.ts'
import { millraceSocket, millraceSse } from '../protocols/index.ts'
import type { App } from '../threads/index.ts'
import { addressOf } from './address.ts'
import { isLoopback } from './guard.ts'
import { lateRefusals } from './late-refusals.ts'
import type { ListeningServer } from './listen.ts'
import { mountProtocols } from './mount.ts'
import type { ServerOptions } from './options.ts'
import { readServerOptions } from './options.ts'
import { pageRoutes } from './page.ts'
import { allRoutes } from './routes.ts'

export interface ListenOptions {
  /** A free one if absent. */
  readonly port?: number | undefined
  /** `127.0.0.1` if absent. Another than loopback needs `auth`. */
  readonly host?: string | undefined
}

/** An app that others can reach. */
export interface ServedApp extends App {
  /**
   * Answers a request, in whatever has `Request` and `Response`. Never rejects. No WebSockets: those need `listen`. Limits by address
   * hold only if it is said where the request comes from.
   */
  fetch(request: Request, from?: { readonly remoteAddress?: string | undefined }): Promise<Response>
  /** Serves it from Node, WebSockets too. */
  listen(options?: ListenOptions): Promise<ListeningServer>
  /**
   * Ends all streams of a user here at once: server-sent events, sockets, voice, MCP. Gives their number. It is for you to let `auth`
   * refuse the user first: a client whose sign-in is still valid comes back. Other processes find out when they check, within
   * `recheckMs`.
   */
  signOut(user: string): number
  /**
   * Takes nothing up any more, tells those who follow that it goes away, lets what runs come to a durable point within `graceMs`,
   * then cuts off what is left.
   */
  close(options?: { readonly graceMs?: number | undefined }): Promise<void>
}

const listenTable: OptionTable<ListenOptions> = {
  port: (value) =>
    !(Number.isInteger(value) && Number(value) >= 0 && Number(value) < 65_536) &&
    'must be a port, 0 to 65535',
  host: someText,
}

/** Puts a server before an app. */
export function serveApp(app: App, options: ServerOptions = {}): ServedApp {
  const settings = readServerOptions(options, 'serve')
  const { auth, limits, voice, onError } = settings
  if (options.limits?.bufferBytes !== undefined) app.buffer.limit = limits.bufferBytes
  const listeners = new Set<Promise<ListeningServer>>()
  let closing: Promise<void> | undefined
  const mounted = mountProtocols(app, {
    settings,
    protocols: [millraceSse(), millraceSocket({ voice }), ...settings.protocols],
    ownRoutes: (shared) => [
      ...(settings.page ? pageRoutes() : []),
      ...allRoutes(app, { ...settings, ...shared }),
    ],
    isClosing: () => closing !== undefined,
  })
  const { handle, shared, signOut } = mounted

  /** Only this needs Node, so only this loads what needs it. */
  async function listen(port: number, host: string): Promise<ListeningServer> {
    const [{ listenOnNode }, { upgrades }, proxy] = await Promise.all([
      import('./listen.ts'),
      import('./upgrade.ts'),
      import('./proxy.ts'),
      mounted.ready(),
      // Tools that refuse to work here say so before a client relies on them.
      ...app.agents.map((name) => app.notices(name)),
    ])
    const { headerBytes, connections } = limits
    const { stuckMs, trustProxy } = settings
    const clientAddress = proxy.clientAddress(trustProxy)
    const holdBack = lateRefusals()
    const upgrade = upgrades({ ...shared, clientAddress, holdBack })
    return listenOnNode({
      ...{ port, host, headerBytes, connections, stuckMs, handle, clientAddress, holdBack, upgrade, onError },
      connectionsPerAddress: trustProxy === false ? limits.connectionsPerAddress : connections,
    })
  }

  async function close(options?: { readonly graceMs?: number | undefined }) {
    const closed = [...listeners].map(async (listener) => (await listener).close())
    await mounted.close()
    await app.close(options)
    await Promise.allSettled(closed)
  }

  return {
    ...app,
    fetch(request, from) {
      // Other things come here where `fetch` itself is handed to a runtime.
      const remote: unknown = from?.remoteAddress
      return handle(request, undefined, typeof remote === 'string' ? addressOf(remote) : undefined)
    },
    async listen(options = {}) {
      const op = 'app.listen'
      checkOptions(options, listenTable, { op, what: 'the option' })
      const { port = 0, host = '127.0.0.1' } = options
      if (closing) throw invalidInput(op, 'the app is closed')
      if (auth === undefined && !isLoopback(host))
        throw invalidInput(
          op,
          `without auth everybody who reaches '${host}' sees everything: give the app an auth, or auth: false if that is meant`,
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
