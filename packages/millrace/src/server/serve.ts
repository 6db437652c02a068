import { anything, checkOptions, invalidInput, isObject, kindOf } from '../protocol/index.ts'
import type { AppOptions, ExchangeStore } from '../threads/index.ts'
import { memoryExchanges, millrace } from '../threads/index.ts'
import type { ServerOptions } from './options.ts'
import { readServerOptions, serverTable } from './options.ts'
import type { ServedApp } from './serve-app.ts'
import { serveApp } from './serve-app.ts'

export interface ServeOptions extends Omit<AppOptions, 'exchanges'>, ServerOptions {
  /**
   * Where the requests to models and their answers are kept; `true` is in memory. If absent, they are kept in memory as long as
   * neither `auth` nor `hosts` is given, as in development, and otherwise not at all.
   */
  readonly exchanges?: ExchangeStore | boolean | undefined
}

/** Here only their names, to tell what was misspelt. The app looks at them itself. */
const appTable: Record<keyof AppOptions, typeof anything> = {
  agents: anything,
  store: anything,
  exchanges: anything,
  context: anything,
  leaseMs: anything,
  recoverMs: anything,
  flushMs: anything,
  maxLosses: anything,
  maxRuns: anything,
  maxRunBytes: anything,
  keptBytes: anything,
  quotas: anything,
  telemetry: anything,
  onError: anything,
}

/** Opens an app as `millrace()` does, with a server before it. */
export function serve(options: ServeOptions): ServedApp {
  const op = 'serve'
  if (!isObject(options as unknown))
    throw invalidInput(op, `serve() takes one object of options, not ${kindOf(options)}`)
  if (typeof (options as { thread?: unknown }).thread === 'function')
    throw invalidInput(
      op,
      'serve() opens the app itself: give it the options, as in serve({ agents }), not an app',
    )
  checkOptions(options, { ...appTable, ...serverTable }, { op, what: 'the option' })
  const serverOptions = pick<ServerOptions>(options, serverTable)
  // Before anything is opened that would have to be closed again.
  readServerOptions(serverOptions, op)
  const appOptions = pick<AppOptions>({ ...options, exchanges: exchangesOf(options) }, appTable)
  const app = millrace(appOptions)
  try {
    return serveApp(app, serverOptions)
  } catch (error) {
    // Only who the agents are could tell that it does not fit.
    void app.close()
    throw error
  }
}

function exchangesOf({ auth, hosts = [], exchanges }: ServeOptions): ExchangeStore | undefined {
  if (exchanges === undefined) return auth === undefined && hosts.length === 0 ? memoryExchanges() : undefined
  if (exchanges === true) return memoryExchanges()
  return exchanges === false ? undefined : exchanges
}

function pick<Part extends object>(options: Part, table: Record<keyof Part, unknown>): Part {
  return Object.fromEntries(Object.entries(options).filter(([name]) => Object.hasOwn(table, name))) as Part
}
