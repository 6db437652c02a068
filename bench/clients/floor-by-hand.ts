import { Agent, type IncomingMessage, request } from 'node:http'
import type { Client, Listener, Wire } from '../contract.ts'
import { readers, type Turn } from './floor/readers.ts'
import { type FloorRequest, floorLoop, requestOf } from './floor/request.ts'

/**
 * The bytes right before the text of a delta. They cannot occur elsewhere: quotes in values are
 * escaped.
 */
const textMarks: Record<Wire, string> = {
  chat: '"delta":{"content":"',
  responses: '"content_index":0,"delta":"',
  messages: '"text_delta","text":"',
}

/** Finds the text of deltas without parsing; only events without text are parsed. */
function scanner(wire: Wire, turn: Turn, listener: Listener): (chunk: string) => void {
  const mark = textMarks[wire]
  const read = readers[wire]
  let rest = ''

  return (chunk) => {
    const all = rest === '' ? chunk : rest + chunk
    let at = 0
    let next = -1
    for (;;) {
      const end = all.indexOf('\n\n', at)
      if (end < 0) break
      if (next < at) {
        const found = all.indexOf(mark, at)
        next = found < 0 ? Number.POSITIVE_INFINITY : found
      }
      if (next < end) {
        const text = stringAt(all, next + mark.length)
        if (text !== '') {
          turn.text += text
          listener.text(text)
        }
      } else read(all.slice(all.indexOf('data: ', at) + 6, end), turn, listener)
      at = end + 2
    }
    rest = all.slice(at)
  }
}

/** The value of the JSON string that starts here. */
function stringAt(all: string, start: number): string {
  let end = all.indexOf('"', start)
  const plain = all.slice(start, end)
  if (!plain.includes('\\')) return plain
  for (let escapes = trailing(all, end); escapes % 2 === 1; escapes = trailing(all, end))
    end = all.indexOf('"', end + 1)
  return JSON.parse(all.slice(start - 1, end + 1))
}

/** How many backslashes precede this place. */
function trailing(all: string, end: number): number {
  let count = 0
  while (all[end - 1 - count] === '\\') count++
  return count
}

/**
 * The best we can write by hand: Node's HTTP client, no general parser, only the events that are
 * needed.
 */
const client: Client = {
  label: 'floor: by hand',
  packages: [],
  wires: ['chat', 'responses', 'messages'],
  without: { varied: 'it finds the text by the bytes before it' },
  open(setting) {
    const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })

    function send({ url, headers, body }: FloorRequest, listener: Listener): Promise<Turn> {
      return new Promise((resolve, reject) => {
        const turn: Turn = { text: '', calls: [] }
        const scan = scanner(setting.wire, turn, listener)
        function receive(response: IncomingMessage) {
          if (response.statusCode !== 200) return reject(new Error(`status ${response.statusCode}`))
          response.setEncoding('utf8')
          response.on('data', scan)
          response.on('end', () => resolve(turn))
          response.on('error', reject)
        }
        const length = { ...headers, 'content-length': Buffer.byteLength(body) }
        request(url, { method: 'POST', agent, headers: length }, receive).on('error', reject).end(body)
      })
    }

    return {
      async answer(prompt, listener) {
        await send(requestOf(setting, [{ role: 'user', content: prompt }]), listener)
      },
      loop: (prompt, listener) => floorLoop(setting, prompt, (request) => send(request, listener)),
    }
  },
}

export default client
