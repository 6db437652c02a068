import { fileURLToPath } from 'node:url'
import { createContext, runInContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Entry } from '../protocol/index.ts'
import type * as api from './index.ts'
import { logOf, logServer } from './log-server.test-kit.ts'

const entryPoint = fileURLToPath(new URL('./index.ts', import.meta.url))

/**
 * Globals that both a page and Node have. Nothing else is available: no process, Buffer,
 * setImmediate or require.
 */
const pageGlobals = [
  'AbortController',
  'TextDecoder',
  'TextEncoder',
  'URL',
  'WebSocket',
  'btoa',
  'clearTimeout',
  'fetch',
  'performance',
  'setTimeout',
] as const

/** Bundles the client for a page: as one file, or split into initial and on-demand code. */
async function bundled(format: 'iife' | 'es', only?: string) {
  const entry = 'virtual:page'
  const source = `export ${only ? `{ ${only} }` : '*'} from ${JSON.stringify(entryPoint)}`
  const bundle = await rolldown({
    input: entry,
    platform: 'browser',
    // A classic script has no `import.meta.url`; it needs the option `workletUrl`.
    logLevel: 'silent',
    plugins: [
      {
        name: 'page',
        resolveId: (id) => (id === entry ? id : null),
        load: (id) => (id === entry ? { code: source, moduleType: 'ts' } : null),
      },
    ],
  })
  const { output } = await bundle.generate({ format, name: 'millrace', minify: true })
  await bundle.close()
  const codeOf = (isLater: boolean) =>
    output.flatMap((file) => (file.type === 'chunk' && file.isDynamicEntry === isLater ? [file.code] : []))
  return { first: codeOf(false).join('\n'), later: codeOf(true).join('\n') }
}

describe('in a page', () => {
  let code: string
  beforeAll(async () => {
    const { first, later } = await bundled('iife')
    expect(later).toBe('')
    code = first
  })

  function openPage(over: object = {}): typeof api {
    const page = Object.fromEntries(pageGlobals.map((name) => [name, globalThis[name]]))
    // Over plain HTTP there is no randomUUID.
    const crypto = {
      getRandomValues: (bytes: Uint8Array<ArrayBuffer>) => globalThis.crypto.getRandomValues(bytes),
    }
    return runInContext(`${code}; millrace`, createContext({ ...page, crypto, ...over }))
  }

  test.each(['auto', 'sse', 'websocket'] as const)(
    'a thread can be followed and sent to over %s',
    async (transport) => {
      const log = logOf(30)
      const first = { transform: (entries: readonly Entry[]) => entries.slice(0, 5), close: 1001 }
      await using server = await logServer({
        log,
        faults: [first],
        answer: (_, response) => response.end('{"seq":1}'),
      })
      const { client, watch } = openPage()
      const thread = client(server.url, { transport, token: 'ü', retry: { baseMs: 1 } }).thread('t1')
      expect(await thread.send('Hello')).toBe(1)
      const taken: Entry[] = []
      for await (const entry of thread.follow()) {
        taken.push(entry)
        if (entry.seq === 30) break
      }
      expect(taken).toEqual(log)
      for await (const { head } of watch(thread)) if (head === 30) break
    },
  )

  test('the url can be relative, and errors are MillraceErrors', async () => {
    await using server = await logServer()
    const { client, isMillraceError } = openPage({ location: { href: `${server.url}/app/index.html` } })
    const error = await client('../api', { retry: { attempts: 1 } })
      .thread('t1')
      .state()
      .catch((thrown: unknown) => thrown)
    expect(isMillraceError(error)).toBe(true)
    expect(server.requests[0]?.url).toBe('/api/threads/t1')
  })

  test('the bundle is small', async () => {
    const { first, later } = await bundled('es', 'client')
    expect(gzipSync(first).length).toBeLessThan(9_000)
    expect(gzipSync(later).length).toBeLessThan(4_000)
    expect(gzipSync((await bundled('es')).first).length).toBeLessThan(16_500)
  })
})
