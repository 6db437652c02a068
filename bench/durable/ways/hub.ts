import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { listen } from '../../server/serve.ts'
import type { WayConfig } from '../ways.ts'
import { committer, type Row } from './hub/committer.ts'
import { workerCommitter } from './hub/worker-committer.ts'

// The floor of a durable server, as a careful person writes it in a day: one table of events, one
// commit for all runs every 20 ms, and followers who get only what is on disk. No tools, no retries,
// no limits, one process.

const flushMs = 20
const heartbeatMs = 15_000
/** A follower who reads too slowly is disconnected, and resumes from the database. */
const mostBufferedBytes = 1 << 20

interface Run {
  readonly id: string
  /** The number of the last event, and of the last one that is on disk. */
  head: number
  durable: number
  readonly followers: Set<ServerResponse>
  /** Frames that are not on disk yet. */
  pending: string
}

export async function openHub({ provider, folder }: WayConfig, inWorker: boolean): Promise<string> {
  const { commit, read } = await (inWorker ? workerCommitter : committer)(`${folder}/hub.db`)
  const runs = new Map<string, Run>()
  let rows: Row[] = []
  let changed = new Set<Run>()
  let isFlushing = false

  function append(run: Run, event: object) {
    const json = JSON.stringify(event)
    const seq = ++run.head
    rows.push([run.id, seq, json])
    run.pending += `id: ${seq}\ndata: ${json}\n\n`
    changed.add(run)
    if (!isFlushing) setTimeout(flush, flushMs)
    isFlushing = true
  }

  async function flush() {
    const group = Array.from(changed, (run) => ({ run, head: run.head, frames: take(run) }))
    const written = rows
    rows = []
    changed = new Set()
    await commit(written)
    isFlushing = rows.length > 0
    if (isFlushing) setTimeout(flush, flushMs)
    for (const { run, head, frames } of group) {
      run.durable = head
      // Made once, however many follow.
      const bytes = Buffer.from(frames)
      for (const follower of run.followers) send(follower, bytes)
    }
  }

  function take(run: Run): string {
    const frames = run.pending
    run.pending = ''
    return frames
  }

  function start(id: string, message: string) {
    const run: Run = { id, head: 0, durable: 0, followers: new Set(), pending: '' }
    runs.set(id, run)
    append(run, { type: 'input', message })
    const headers = { 'content-type': 'application/json', authorization: 'Bearer none' }
    const asked = request(`${provider}/chat/completions`, { method: 'POST', headers }, (response) => {
      let rest = ''
      response.setEncoding('utf8').on('data', (piece: string) => {
        const lines = (rest + piece).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) {
          if (!line.startsWith('data: ') || line === 'data: [DONE]') continue
          const text = JSON.parse(line.slice(6)).choices[0]?.delta.content
          if (text) append(run, { type: 'text', text })
        }
      })
      response.on('end', () => append(run, { type: 'end' }))
    })
    const messages = [{ role: 'user', content: message }]
    asked.end(JSON.stringify({ model: 'gpt-4.1-mini', stream: true, messages }))
  }

  function follow(run: Run, after: number, response: ServerResponse) {
    // The end of the connection ends the stream: no chunks, so that all get the same bytes.
    response.removeHeader('transfer-encoding')
    response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' })
    const missed = read(run.id, after, run.durable)
    send(response, Buffer.from(missed.map(({ seq, json }) => `id: ${seq}\ndata: ${json}\n\n`).join('')))
    run.followers.add(response)
    response.on('close', () => run.followers.delete(response))
  }

  async function answer(incoming: IncomingMessage, response: ServerResponse) {
    const [, id = ''] = /^\/runs\/([^/]+)/.exec(incoming.url ?? '') ?? []
    const run = runs.get(id)
    if (incoming.method === 'POST' && !run) {
      start(id, JSON.parse(await text(incoming)).message)
      response.writeHead(202).end()
    } else if (incoming.method === 'GET' && run)
      follow(run, Number(incoming.headers['last-event-id'] ?? 0), response)
    else response.writeHead(404).end()
  }

  const heartbeat = Buffer.from(': \n\n')
  setInterval(() => {
    for (const { followers } of runs.values()) for (const follower of followers) send(follower, heartbeat)
  }, heartbeatMs)
  return listen(createServer((incoming, response) => void answer(incoming, response)))
}

function send(follower: ServerResponse, bytes: Buffer) {
  if (follower.writableLength > mostBufferedBytes) follower.destroy()
  else follower.write(bytes)
}

export const open = (config: WayConfig) => openHub(config, false)
