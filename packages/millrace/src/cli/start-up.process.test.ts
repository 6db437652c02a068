import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { connect } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { afterFile } from '../../../../test/clean-up.ts'
import { homeWith } from './cli.test-kit.ts'

// What a command loads is most of what a short one costs. It is counted, because times vary.

/** Loaded before the command. Writes what it has loaded when it ends. */
const recorder = `
import { registerHooks } from 'node:module'
import { writeFileSync } from 'node:fs'
let bytes = 0
let workers = 0
process.on('worker', () => workers++)
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    if (url.startsWith('file:')) bytes += loaded.source.length
    return loaded
  },
})
process.on('exit', () => {
  const fetch = process.moduleLoadList.some((name) => name.endsWith('undici/undici'))
  writeFileSync(process.env.LOADED, JSON.stringify({ kilobytes: bytes / 1000, fetch, workers }))
})`

/** `NODE_OPTIONS` that load a module before the command. */
const preload = (path: string) => ({ NODE_OPTIONS: `--import=${path}` })

test('a question loads neither fetch nor the server, starts no thread, and --version next to nothing', async () => {
  const home = await homeWith(['The answer.'])
  const LOADED = join(home.folder, 'loaded.json')
  const env = { ...preload(home.write('recorder.mjs', recorder)), LOADED }
  const loadedBy = async (...args: string[]) => {
    expect(await home.run(args, { env })).toMatchObject({ exit: 0, stderr: '' })
    return JSON.parse(readFileSync(LOADED, 'utf8')) as { kilobytes: number; fetch: boolean; workers: number }
  }

  const answered = await loadedBy('What is a millrace?')
  expect(answered.fetch).toBe(false)
  expect(answered.workers).toBe(0)
  // The server alone would add more than 200.
  expect(answered.kilobytes).toBeLessThan(800)
  expect((await loadedBy('--version')).kilobytes).toBeLessThan(140)
})

test('a fetch that was replaced sends the request', async () => {
  const home = await homeWith(['The answer.'])
  const replacement = `
const { fetch } = globalThis
globalThis.fetch = (url, init) => fetch(url, { ...init, headers: { ...init.headers, through: 'it' } })`
  const { stdout } = await home.run(['hello'], { env: preload(home.write('replaced.mjs', replacement)) })
  expect(stdout).toBe('The answer.\n')
  expect(home.simulator.requests[0]?.headers).toMatchObject({ through: 'it' })
})

test('a proxy that Node is configured with sends the request', async () => {
  const home = await homeWith(['The answer.'])
  const asked: (string | undefined)[] = []
  const proxy = createServer().on('connect', ({ url }, socket: Socket) => {
    asked.push(url)
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    socket.pipe(connect(Number(new URL(home.simulator.baseURL).port), '127.0.0.1')).pipe(socket)
  })
  const HTTP_PROXY = await listen(proxy)
  const { stdout } = await home.run(['hello'], {
    env: { NODE_USE_ENV_PROXY: '1', HTTP_PROXY, OPENAI_BASE_URL: 'http://model.test/v1' },
  })
  expect(stdout).toBe('The answer.\n')
  expect(asked).toEqual(['model.test:80'])
})

test('a compressed response is read, although it was not asked for', async () => {
  const home = await homeWith([])
  const frames = [
    '{"choices":[{"index":0,"delta":{"content":"The answer."},"finish_reason":"stop"}]}',
    '[DONE]',
  ]
  const body = gzipSync(frames.map((frame) => `data: ${frame}\n\n`).join(''))
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' }).end(body)
  })
  const { stdout } = await home.run(['hello'], { env: { OPENAI_BASE_URL: `${await listen(server)}/v1` } })
  expect(stdout).toBe('The answer.\n')
})

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  afterFile(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
