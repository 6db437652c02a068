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
  /** What the provider's model does: round by round, or as each request asks for. */
  readonly script: Parameters<typeof providerSimulator>[0]
  readonly provider?: ProviderSimulatorOptions
}

export interface OpenDeskOptions extends DeskOptions {
  /** The support desk's if absent: `list_orders`, `lookup_order`, `track_parcel` (slow), `refund_order` (asks first). */
  readonly agents?: (model: Model) => Record<string, Agent>
  readonly app?: Partial<ServeOptions>
}

export interface Desk {
  readonly url: string
  readonly app: ServedApp
  /** For a test that needs a log that no run would write. */
  readonly store: ThreadStore
  readonly provider: ProviderSimulator
}

/** A server in this process, from what `npm run build` made, over SQLite and a provider that plays the script. Ends with the test. */
export async function openDesk(options: OpenDeskOptions): Promise<Desk> {
  const { agents = supportDesk, app: more } = options
  const { provider, file } = await groundwork(options)
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
  /** Always the same. */
  readonly url: string
  readonly provider: ProviderSimulator
  /** kill -9. Resolves when it is gone. */
  kill(): Promise<void>
  /** Another one, at the same address, over the same file. Resolves when it can be reached. */
  start(): Promise<void>
}

/** The same in a process of its own, which can be killed and started again. */
export async function openDeskProcess(options: DeskOptions): Promise<DeskProcess> {
  const { provider, file } = await groundwork(options)
  const port = await fixedPort()
  const program = await bundled(fileURLToPath(new URL('./serve.ts', import.meta.url)))
  const start = () => startServer(program, { port, file, provider: provider.url })
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

async function groundwork({ script, provider: settings }: DeskOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-page-'))
  // Last of all, since what ends with a test ends in reverse order.
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const provider = await providerSimulator(script, settings)
  onTestFinished(() => provider.close())
  return { provider, file: join(folder, 'threads.db') }
}
