import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ProviderSimulator, type ProviderSimulatorOptions, providerSimulator } from '@millrace/simulator'
import type { Agent, Model, ThreadStore } from 'millrace'
import { type ServedApp, type ServeOptions, serve } from 'millrace/server'
import { sqliteStore } from 'millrace/sqlite'
import { onTestFailed, onTestFinished } from 'vitest'
import { supportDesk } from '../../examples/support-desk/agent.ts'
import { bundled } from '../bundle.ts'
import { fixedPort, startServer } from '../survival/server-process.ts'
import { simulatedModel } from './simulated-model.ts'

export interface DeskOptions {
  /** What the simulated provider generates: a list of rounds, or a function of the request. */
  readonly script: Parameters<typeof providerSimulator>[0]
  readonly provider?: ProviderSimulatorOptions
}

export interface OpenDeskOptions extends DeskOptions {
  /**
   * Default: the agents of the support desk example, with the tools `list_orders`, `lookup_order`,
   * `track_parcel` (slow) and `refund_order` (needs approval).
   */
  readonly agents?: (model: Model) => Record<string, Agent>
  readonly app?: Partial<ServeOptions>
}

export interface Desk {
  readonly url: string
  readonly app: ServedApp
  /** For tests that need a log no run would write. */
  readonly store: ThreadStore
  readonly provider: ProviderSimulator
}

/** A server with the built page, SQLite and a simulated provider. Ends with the test. */
export async function openDesk(options: OpenDeskOptions): Promise<Desk> {
  const { agents = supportDesk, app: more } = options
  const { provider, file } = await startProvider(options)
  const store = sqliteStore(file)
  const app = serve({ agents: { ...agents(simulatedModel(provider.url)) }, store, ...more })
  onTestFinished(async () => {
    await app.close({ graceMs: 0 })
    await store.close()
  })
  const { url } = await app.listen()
  return { url, app, store, provider }
}

export interface DeskProcess {
  /** Does not change when the server is restarted. */
  readonly url: string
  readonly provider: ProviderSimulator
  /** kill -9. Resolves when the process has exited. */
  kill(): Promise<void>
  /** Starts another process with the same address and file. Resolves when it accepts requests. */
  start(): Promise<void>
}

/**
 * Like `openDesk`, in a separate process that can be killed and restarted. With the path of a
 * file that has the files of another page, as JSON, it serves that page.
 */
export async function openDeskProcess(options: DeskOptions, files?: string): Promise<DeskProcess> {
  const { provider, file } = await startProvider(options)
  const port = await fixedPort()
  const program = await bundled(fileURLToPath(new URL('./serve.ts', import.meta.url)))
  const config = { port, file, provider: provider.url, files }
  const start = () => startServer(program, config)
  let latest = start()
  onTestFinished(() => latest.kill())
  onTestFailed(() => void process.stderr.write(latest.stderr()))
  await latest.ready
  return {
    url: `http://127.0.0.1:${port}`,
    provider,
    kill: () => latest.kill(),
    start() {
      latest = start()
      return latest.ready
    },
  }
}

async function startProvider({ script, provider: settings }: DeskOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-page-'))
  // Registered first, so that it runs last: handlers run in reverse order.
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const provider = await providerSimulator(script, settings)
  onTestFinished(() => provider.close())
  return { provider, file: join(folder, 'threads.db') }
}
