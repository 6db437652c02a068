import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, type Model, type ThreadStore } from 'millrace'
import { serve } from 'millrace/server'
import { sqliteStore } from 'millrace/sqlite'
import { build } from 'vite'

const inspector = join(import.meta.dirname, '../../packages/inspector')

export interface Stage {
  readonly url: string
  close(): Promise<void>
}

/** A page with one script of `stage/` and its imports, built like the real page. */
export async function openStage(script: string): Promise<Stage> {
  const files = await buildStage(join(import.meta.dirname, 'stage', `${script}.ts`))
  const server = createServer(({ url = '/' }, response) => {
    const path = url === '/' ? 'index.html' : url.slice(1)
    const body = path === 'index.html' ? pageOf([...files.keys()]) : files.get(path)
    const type = types[path.split('.').at(-1) ?? ''] ?? 'text/plain'
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': type }).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript',
  css: 'text/css',
}

function pageOf(names: readonly string[]): string {
  const styles = names.filter((name) => name.endsWith('.css'))
  return [
    '<!doctype html><html lang=en><title>Stage</title><link rel=icon href=data:,>',
    ...styles.map((name) => `<link rel=stylesheet href=/${name}>`),
    '<body><script type=module src=/stage.js></script>',
  ].join('')
}

async function buildStage(script: string): Promise<ReadonlyMap<string, string | Uint8Array>> {
  const built = await build({
    root: inspector,
    configFile: join(inspector, 'vite.config.ts'),
    logLevel: 'error',
    build: {
      write: false,
      cssCodeSplit: false,
      rolldownOptions: {
        input: { stage: script },
        output: { entryFileNames: 'stage.js', chunkFileNames: '[name].js' },
      },
    },
  })
  if (!('output' in built)) throw new Error('expected one output of Vite')
  return new Map(
    built.output.map((file) => [file.fileName, file.type === 'chunk' ? file.code : file.source] as const),
  )
}

export interface App {
  readonly url: string
  readonly store: ThreadStore
  close(): Promise<void>
}

/** A server as a user would set it up, with SQLite. Pages of `origin` may read it too. */
export async function openApp(model: Model, origin: string): Promise<App> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-page-'))
  const store = sqliteStore(join(folder, 'threads.db'))
  const app = serve({
    agents: { desk: agent({ model }) },
    store,
    origins: [origin],
    // The floor reads a long log without a pause.
    limits: { requestsPerSecond: 100_000 },
  })
  const { url } = await app.listen()
  return {
    url,
    store,
    async close() {
      await app.close({ graceMs: 0 })
      await store.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
