import { fork } from 'node:child_process'
import { createServer, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { agent } from 'millrace'
import { millrace } from 'millrace/server'
import { scriptedModel } from 'millrace/testing'

// What it buys that Node writes a followed thread itself instead of reading the body of its Response:
//   npm run build && node bench/load/direct.ts [rounds]
// Two servers of the same build take turns: `direct` is app.listen(), `response` is a node:http server that reads the body of what
// app.fetch() gives, as any other host does. Counted is the CPU time of the server for each event that a client has got.

const threads = 20
const followersOfEach = 40
const words = 150
const ways = ['direct', 'response'] as const

type Way = (typeof ways)[number]
type Told = {
  readonly port?: number
  readonly cpuUs?: number
  readonly events?: number
  readonly bytes?: number
}

async function serve(way: Way) {
  const app = millrace({
    agents: agent({ model: scriptedModel(() => 'word '.repeat(words), { paceMs: 25, deltaChars: 5 }) }),
    limits: { streams: 1e6, requestsPerSecond: 1e6 },
    exchanges: false,
  })
  const all = Array.from({ length: threads }, (_, index) => app.thread(`t${index}`))
  for (const thread of all) await thread.create()
  const plain = createServer(async ({ url }, response) => {
    const { headers, body } = await app.fetch(new Request(`http://localhost${url}`))
    response.removeHeader('transfer-encoding')
    response.setHeaders(headers)
    response.setHeader('connection', 'close')
    response.flushHeaders()
    if (body) await readInto(response, body)
  })
  const { port } =
    way === 'direct'
      ? await app.listen()
      : await new Promise<{ port: number }>((resolve) => {
          plain.listen(0, '127.0.0.1', () => resolve(plain.address() as { port: number }))
        })
  process.on('message', async (order) => {
    if (order === 'memory') {
      for (let turn = 0; turn < 4; turn++) {
        globalThis.gc?.()
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      const { heapUsed, external } = process.memoryUsage()
      process.send?.({ bytes: heapUsed + external })
      return
    }
    const before = process.cpuUsage()
    await Promise.all(
      all.map(async (thread) => {
        const seq = await thread.send('Go.')
        for await (const _ of thread.follow({ after: seq, until: seq }));
      }),
    )
    await new Promise((resolve) => setTimeout(resolve, 200))
    const { user, system } = process.cpuUsage(before)
    process.send?.({ cpuUs: user + system })
  })
  process.send?.({ port })
}

async function readInto(response: ServerResponse, body: ReadableStream<Uint8Array>) {
  const reader = body.getReader()
  response.once('close', () => void reader.cancel())
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return response.end()
    if (!response.write(value)) await new Promise((resolve) => response.once('drain', resolve))
  }
}

async function follow(port: number) {
  let events = 0
  let open = 0
  process.on('message', () => process.send?.({ events }))
  for (let index = 0; index < threads * followersOfEach; index++) {
    const socket = connect(port, '127.0.0.1')
    socket.write(`GET /threads/t${index % threads}/events HTTP/1.1\r\nhost: localhost\r\n\r\n`)
    socket.once('data', () => {
      if (++open === threads * followersOfEach) process.send?.({})
    })
    socket.on('data', (chunk) => {
      for (let at = chunk.indexOf('id: '); at !== -1; at = chunk.indexOf('id: ', at + 1)) events++
    })
    if (index % 50 === 49) await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function measure(way: Way) {
  const start = (...args: string[]) => {
    const child = fork(fileURLToPath(import.meta.url), args, { execArgv: ['--expose-gc'] })
    const told = () => new Promise<Told>((resolve) => child.once('message', resolve as () => void))
    const ask = (order: string) => {
      child.send(order)
      return told()
    }
    return { child, told, ask }
  }
  const server = start('serve', way)
  const { port } = await server.told()
  const before = (await server.ask('memory')).bytes ?? 0
  const clients = start('follow', String(port))
  await clients.told()
  const bytes = ((await server.ask('memory')).bytes ?? 0) - before
  const { cpuUs = 0 } = await server.ask('go')
  const { events = 0 } = await clients.ask('count')
  for (const { child } of [server, clients]) child.kill('SIGKILL')
  return { us: cpuUs / events, kb: bytes / 1024 / (threads * followersOfEach) }
}

const [mode, value = ''] = process.argv.slice(2)
if (mode === 'serve') await serve(value as Way)
else if (mode === 'follow') await follow(Number(value))
else {
  const runs: Record<Way, Awaited<ReturnType<typeof measure>>[]> = { direct: [], response: [] }
  for (let round = 0; round < Number(mode ?? 5); round++)
    for (const way of round % 2 === 0 ? ways : ways.toReversed()) runs[way].push(await measure(way))
  for (const way of ways) {
    const spread = (of: (run: (typeof runs)[Way][number]) => number) => {
      const sorted = runs[way].map(of).sort((a, b) => a - b)
      const [least, middle, most] = [0, sorted.length >> 1, sorted.length - 1].map((at) =>
        sorted[at]?.toFixed(1),
      )
      return `${middle} (${least}–${most})`
    }
    process.stdout.write(
      `${way}: ${spread(({ us }) => us)} µs of CPU an event, ${spread(({ kb }) => kb)} KB a follower\n`,
    )
  }
}
