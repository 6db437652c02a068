import { createServer, type Socket } from 'node:net'
import { answer, configOf, usage } from '../harness/answer.ts'
import { readTurn } from '../load/conversation.ts'
import { renderChat } from '../server/render.ts'
import { clock, word, wordMark } from './words.ts'

// A Chat Completions provider that talks in as many runs as there are requests, until it has to
// end some. One timer and one write per delta: at 40,000 deltas per second, a timer and a promise
// for each would make the provider the bottleneck, and not the server.

const { everyMs } = configOf<{ everyMs: number }>()

interface Run {
  readonly id: string
  readonly socket: Socket
  said: number
}

/** The runs in the order in which they started; `turns` spreads their deltas over the interval. */
const running = new Map<string, Run>()
const turns: Set<Run>[] = Array.from({ length: everyMs }, () => new Set())
/** How many words each run was sent. */
const said = new Map<string, number>()
let total = 0
let next = 0

const frames = renderChat({
  name: 'durable',
  scenario: { rounds: 1, callsPerRound: 0, tools: [], round: () => [] },
  round: 0,
  parts: [{ type: 'text', deltas: [wordMark] }],
  options: { usage: true, obfuscation: true },
}).map(({ text }) => text)
const at = frames.findIndex((text) => text.includes(wordMark))
const after = frames[at]?.split(wordMark)[1] ?? ''
const head = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n`
const opening = head + chunk(frames.slice(0, at).join(''))
const ending = `${chunk(frames.slice(at + 1).join(''))}0\r\n\r\n`
// A word has the same length each time, and so have its frame and its chunk.
const deltaStart = chunk(frames[at] ?? '').replace(`${wordMark}${after}\r\n`, '')
const deltaEnd = `${after}\r\n`

function chunk(text: string) {
  return `${text.length.toString(16)}\r\n${text}\r\n`
}

function start(id: string, socket: Socket) {
  const run: Run = { id, socket, said: 0 }
  socket.write(opening, 'latin1')
  running.set(id, run)
  turns[next++ % everyMs]?.add(run)
}

function end({ id, socket, said: words }: Run) {
  said.set(id, words)
  socket.write(ending, 'latin1')
  forget(id)
}

function forget(id: string) {
  const run = running.get(id)
  running.delete(id)
  if (run) for (const turn of turns) turn.delete(run)
}

/** Requests come one after the other on a connection, each in one or more pieces. */
function converse(socket: Socket) {
  let text = ''
  let current = ''
  socket.setNoDelay(true).setEncoding('utf8')
  socket.on('data', (piece) => {
    text += piece
    const split = text.indexOf('\r\n\r\n')
    const length = Number(/^content-length: *(\d+)/im.exec(text)?.[1] ?? Number.NaN)
    const body = text.slice(split + 4)
    if (split < 0 || Buffer.byteLength(body) < length) return
    text = ''
    current = readTurn(body).thread
    start(current, socket)
  })
  socket.on('error', () => {})
  socket.on('close', () => forget(current))
}

let tick = 0
const begin = performance.now()
setInterval(() => {
  // Late timers are made up for, so that the pace stays.
  for (const now = performance.now() - begin; tick < now; tick++)
    for (const run of turns[tick % everyMs] ?? []) {
      run.socket.write(`${deltaStart}${word(run.said++, clock())}${deltaEnd}`, 'latin1')
      total++
    }
}, 1)

const server = createServer({ noDelay: true }, converse)

const asked = {
  open: () =>
    new Promise<string>((resolve) => {
      server.listen({ port: 0, host: '127.0.0.1', backlog: 2048 }, () => {
        const address = server.address()
        if (typeof address === 'object' && address) resolve(`http://127.0.0.1:${address.port}/v1`)
      })
    }),
  /** Words sent to all runs so far. */
  total: () => total,
  runs: () => running.size,
  /** Ends the youngest runs until `left` are left. */
  leave(left: number) {
    for (const run of [...running.values()].slice(left)) end(run)
  },
  /** Words sent to each run that ended. */
  said: () => Object.fromEntries(said),
  usage: usage(),
}
export type ProviderAnswers = typeof asked
answer(asked)
