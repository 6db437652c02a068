import { anything, checkOptions, invalidInput, isObject, kindOf } from '../protocol/index.ts'
import type { AppOptions } from '../threads/index.ts'
import { millrace as openApp } from '../threads/index.ts'
import type { ServerOptions } from './options.ts'
import { readServerOptions, serverTable } from './options.ts'
import type { ServedApp } from './serve.ts'
import { serve } from './serve.ts'

export interface ServedAppOptions extends AppOptions, ServerOptions {}

/** Here only their names, to tell what was misspelt. The app looks at them itself. */
const appTable: Record<keyof AppOptions, typeof anything> = {
  agents: anything,
  store: anything,
  context: anything,
  leaseMs: anything,
  recoverMs: anything,
  flushMs: anything,
  maxLosses: anything,
  maxRuns: anything,
  onError: anything,
}

/** Opens an app that others can reach: `millrace()` of the core with a server before it. */
export function millrace(options: ServedAppOptions): ServedApp {
  const op = 'millrace'
  if (!isObject(options as unknown))
    throw invalidInput(op, `millrace() takes one object of options, not ${kindOf(options)}`)
  checkOptions(options, { ...appTable, ...serverTable }, { op, what: 'the option' })
  const serverOptions = pick<ServerOptions>(options, serverTable)
  // Before anything is opened that would have to be closed again.
  readServerOptions(serverOptions, op)
  return serve(openApp(pick<AppOptions>(options, appTable)), serverOptions)
}

function pick<Part extends object>(options: Part, table: Record<keyof Part, unknown>): Part {
  return Object.fromEntries(Object.entries(options).filter(([name]) => Object.hasOwn(table, name))) as Part
}
