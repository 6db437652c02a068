import { join } from 'node:path'
import { afterEach } from 'vitest'
import type { AgentOptions } from '../agent/index.ts'
import { agent } from '../agent/index.ts'
import { temporaryFolder } from '../log/sqlite/sqlite.test-kit.ts'
import { sqliteStore } from '../log/sqlite.ts'
import type { MillraceError } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
import type { AppOptions, ThreadStore } from './index.ts'
import { memoryStore, millrace } from './index.ts'

export const kinds = ['memory', 'SQLite'] as const

type Start = Partial<AppOptions> & {
  rounds?: Parameters<typeof scriptedModel>[0]
  tools?: AgentOptions['tools']
  agentTelemetry?: AgentOptions['telemetry']
}

/** Stores, and apps with one agent `helper`. All are closed after each test. */
export function testApps() {
  const folder = temporaryFolder()
  const open: { close(): Promise<void> }[] = []
  let files = 0
  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.close()
  })

  function storeOf(kind: (typeof kinds)[number], options?: { now: () => number }): ThreadStore {
    const store =
      kind === 'memory' ? memoryStore(options) : sqliteStore(join(folder, `${++files}.db`), options)
    open.push(store)
    return store
  }

  function start({ rounds = () => 'Yes.', tools = [], agentTelemetry: telemetry, ...options }: Start) {
    const errors: MillraceError[] = []
    const app = millrace({
      agents: agent({ name: 'helper', model: scriptedModel(rounds), tools, telemetry }),
      flushMs: 0,
      recoverMs: 10,
      onError: (error) => errors.push(error),
      ...options,
    })
    open.push({ close: () => app.close({ graceMs: 0 }) })
    return { app, errors }
  }

  return { storeOf, start }
}

/** Calls a tool in the first round, then ends. */
export const firstCalls =
  (name: string) =>
  (_: unknown, index: number): ScriptRound =>
    index === 0 ? [{ call: name }] : 'Done.'
