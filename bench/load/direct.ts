import { createServer, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { agent } from 'millrace'
import { serve } from 'millrace/server'
import { scriptedModel } from 'millrace/testing'
import { answer, configOf, heldBytes } from '../harness/answer.ts'
import { spreadOf } from '../harness/measure.ts'
import { startChild } from '../harness/process.ts'
import { listen } from '../server/serve.ts'

// What it saves that Node writes a followed thread directly, without reading its Response body:
//   npm run build && node bench/load/direct.ts [rounds]
// Two servers of the same build take turns: `direct` is app.listen(), `response` is a node:http
// server that reads the body of the Response from app.fetch(), as any other host does. The figure
// is server CPU time per delivered event.

const threads = 20
const followersOfEach = 40
const words = 150
const ways = ['direct', 'response'] as const

type Way = (typeof ways)[number]

function serverAnswers(way: Way) {
  const app = serve({
    agents: agent({ model: scriptedModel(() => 'word '.repeat(words), { paceMs: 25, deltaChars: 5 }) }),
    limits: { streams: 1e6, requestsPerSecond: 1e6 },
    exchanges: false,
  })
  const all = Array.from({ length: threads }, (_, index) => app.thread(`t${index}`))
  const plain = createServer(async ({ url }, response) => {
    const { headers, body } = await app.fetch(new Request(`http://localhost${url}`))
    response.removeHeader('transfer-encoding')
    response.setHeaders(headers)
    response.setHeader('connection', 'close')
    response.flushHeaders()
    if (body) await readInto(response, body)
  })
  return {
    async open() {
      for (const thread of all) await thread.create()
      return way === 'direct' ? (await app.listen()).url : listen(plain)
    },
    async memory() {
      for (let turn = 0; turn < 3; turn++) {
        heldBytes()
        await wait(50)
      }
      return heldBytes()
    },
    /** CPU time of a run in every thread, in µs. */
    async go() {
      const before = process.cpuUsage()
      await Promise.all(
        all.map(async (thread) => {
          const seq = await thread.send('Go.')
          for await (const _ of thread.follow({ after: seq, until: seq }));
        }),
      )
      await wait(200)
      const { user, system } = process.cpuUsage(before)
      return user + system
    },
  }
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

function followerAnswers() {
  let events = 0
  const follow = (port: number, index: number) =>
    new Promise<void>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.write(`GET /threads/t${index % threads}/events HTTP/1.1\r\nhost: localhost\r\n\r\n`)
      socket.once('data', () => resolve())
      socket.on('data', (chunk) => {
        for (let at = chunk.indexOf('id: '); at !== -1; at = chunk.indexOf('id: ', at + 1)) events++
      })
    })
  return {
    async connect(url: string) {
      const open: Promise<void>[] = []
      for (let index = 0; index < threads * followersOfEach; index++) {
        open.push(follow(Number(new URL(url).port), index))
        if (index % 50 === 49) await wait(20)
      }
      await Promise.all(open)
    },
    events: () => events,
  }
}

async function measure(way: Way) {
  const options = { execArgv: ['--expose-gc'] }
  const server = startChild<ReturnType<typeof serverAnswers>>('load/direct.ts', { way }, options)
  const clients = startChild<ReturnType<typeof followerAnswers>>('load/direct.ts', { way: 'follow' }, options)
  const url = await server.ask('open')
  const before = await server.ask('memory')
  await clients.ask('connect', url)
  const bytes = (await server.ask('memory')) - before
  const us = (await server.ask('go')) / (await clients.ask('events'))
  await Promise.all([server.stop(0), clients.stop(0)])
  return { us, kb: bytes / 1024 / (threads * followersOfEach) }
}

if (process.send) {
  const { way } = configOf<{ way: Way | 'follow' }>()
  answer(way === 'follow' ? followerAnswers() : serverAnswers(way))
} else {
  const runs: Record<Way, Awaited<ReturnType<typeof measure>>[]> = { direct: [], response: [] }
  for (let round = 0; round < Number(process.argv[2] ?? 5); round++)
    for (const way of round % 2 === 0 ? ways : ways.toReversed()) runs[way].push(await measure(way))
  const spread = (values: readonly number[]) => {
    const { median, low, high } = spreadOf(values)
    return `${median.toFixed(1)} (${low.toFixed(1)}–${high.toFixed(1)})`
  }
  for (const way of ways) {
    const [us, kb] = [runs[way].map((run) => run.us), runs[way].map((run) => run.kb)]
    process.stdout.write(`${way}: ${spread(us)} µs of CPU per event, ${spread(kb)} KB per follower\n`)
  }
}
