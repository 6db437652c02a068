import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ProviderSimulator, providerSimulator, type SimulatedRequest } from '@millrace/simulator'
import { client, type RemoteThread } from 'millrace/client'
import type { ScriptRound } from 'millrace/testing'
import { bundled } from '../../bundle.ts'
import { fixedPort, startServer } from '../../survival/server-process.ts'
import type { PageFiles } from '../react/page-protocol.ts'
import { builtPage } from '../react.test-kit.ts'

/** The pages, each with another client, and the file of each. */
const pageFiles = {
  'use-chat': '../clients/use-chat.tsx',
  'assistant-ui': '../clients/assistant-ui.tsx',
  'use-thread': 'app.tsx',
}
export type PageName = keyof typeof pageFiles

export interface ClientServerConfig {
  readonly port: number
  readonly file: string
  readonly provider: string
  /** The address that the tool `look` waits for. */
  readonly gate: string
  /** A file with the files of each page, as JSON. */
  readonly pages: string
}

export interface ClientServer {
  /** Does not change when the server is restarted. */
  readonly url: string
  /** The SQLite file. */
  readonly file: string
  readonly provider: ProviderSimulator
  /** What the model generates in reply to a message of this text, round by round. */
  script(text: string, rounds: readonly ScriptRound[]): void
  /** Lets the calls of `look` return that have started, and those that start later. */
  open(): void
  /** The thread that was used last. */
  latestThread(): Promise<RemoteThread>
  /** kill -9, and another process with the same address and file. Resolves when it is ready. */
  restart(): Promise<void>
  close(): Promise<void>
}

/** A server with SQLite in a separate process, for all tests of a file. */
export async function openClientServer(...names: readonly PageName[]): Promise<ClientServer> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-clients-'))
  const pages = join(folder, 'pages.json')
  writeFileSync(pages, JSON.stringify(await builtPages(names)))
  const scripts = new Map<string, ScriptRound[]>()
  const provider = await providerSimulator((request) => {
    const text = lastText(request)
    return scripts.get(text)?.shift() ?? [{ error: `no round is left for '${text}'` }]
  })
  const gate = await openGate()
  const program = await bundled(fileURLToPath(new URL('./serve.ts', import.meta.url)))
  const port = await fixedPort()
  const file = join(folder, 'threads.db')
  const config: ClientServerConfig = { port, file, provider: provider.url, gate: gate.url, pages }
  let server = startServer(program, config)
  await server.ready
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    file,
    provider,
    script: (text, rounds) => void scripts.set(text, [...rounds]),
    open: gate.open,
    async latestThread() {
      const { threads } = await client(url).threads({ limit: 1 })
      return client(url).thread(threads[0]?.id ?? '')
    },
    async restart() {
      await server.kill()
      server = startServer(program, config)
      await server.ready
    },
    async close() {
      await server.kill()
      await provider.close()
      gate.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function builtPages(names: readonly PageName[]): Promise<Record<string, PageFiles>> {
  const pages = names.map(async (name) => [name, await builtPage('19', { name: pageFiles[name] })] as const)
  return Object.fromEntries(await Promise.all(pages))
}

/** The text of the last message of the user, in a request for Chat Completions. */
function lastText({ body }: SimulatedRequest): string {
  type Content = string | readonly { readonly text?: string }[]
  const { messages } = body as unknown as { messages: { role: string; content: Content }[] }
  const content = messages.findLast(({ role }) => role === 'user')?.content ?? ''
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('')
}

/** An address that answers when the gate is open. */
async function openGate() {
  const waiting: ServerResponse[] = []
  let isOpen = false
  const server = createServer((_, response) => {
    if (isOpen) response.end('found')
    else waiting.push(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    open() {
      isOpen = true
      for (const response of waiting.splice(0)) response.end('found')
    },
    close: () => void server.close().closeAllConnections(),
  }
}
