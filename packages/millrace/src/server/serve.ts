import { anything, checkOptions, invalidInput, isObject, kindOf } from '../protocol/index.ts'
import type { AppOptions, ExchangeStore } from '../threads/index.ts'
import { memoryExchanges, millrace } from '../threads/index.ts'
import type { ServerOptions } from './options.ts'
import { readServerOptions, serverTable } from './options.ts'
import type { ServedApp } from './serve-app.ts'
import { serveApp } from './serve-app.ts'

export interface ServeOptions extends Omit<AppOptions, 'exchanges'>, ServerOptions {
  /**
   * Where model requests and responses are recorded; `true` records them in memory. By default they
   * are recorded in memory if neither `auth` nor `hosts` is set, as in development, and not at all
   * otherwise.
   */
  readonly exchanges?: ExchangeStore | boolean | undefined
}

/** Only the names, to find misspelled options. The app checks the values. */
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
  cacheBytes: anything,
  dispatcher: anything,
  works: anything,
  storeTimeoutMs: anything,
  maxAgentRuns: anything,
  keepDays: anything,
  quotas: anything,
  budget: anything,
  telemetry: anything,
  onError: anything,
}

/** Creates an app like `millrace()` does, and adds a server. */
export function serve(options: ServeOptions): ServedApp {
  const op = 'serve'
  if (!isObject(options as unknown))
    throw invalidInput(op, `serve() takes one object of options, not ${kindOf(options)}`)
  if (typeof (options as { thread?: unknown }).thread === 'function')
    throw invalidInput(
      op,
      'serve() creates the app itself: pass options, as in serve({ agents }), not an app',
    )
  checkOptions(options, { ...appTable, ...serverTable }, { op, what: 'the option' })
  const serverOptions = pick<ServerOptions>(options, serverTable)
  // Checked before anything is opened that would have to be closed again.
  readServerOptions(serverOptions, op)
  const appOptions = pick<AppOptions>({ ...options, exchanges: exchangesOf(options) }, appTable)
  const app = millrace(appOptions)
  try {
    return serveApp(app, serverOptions)
  } catch (error) {
    // A protocol may reject the agents, which are only known now.
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
