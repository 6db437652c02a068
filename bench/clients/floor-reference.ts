import { createParser } from 'eventsource-parser'
import type { Client, Listener, Wire } from '../contract.ts'
import { countContent } from './floor/count-content.ts'
import { readers, type Turn } from './floor/readers.ts'
import { type FloorRequest, floorLoop, requestOf } from './floor/request.ts'

async function send(
  { url, headers, body }: FloorRequest,
  wire: Wire,
  listener: Listener,
  onArguments?: (piece: string) => void,
): Promise<Turn> {
  const response = await fetch(url, { method: 'POST', headers, body })
  if (!response.ok || !response.body) throw new Error(`${response.status}: ${await response.text()}`)
  const turn: Turn = { text: '', calls: [] }
  const read = readers[wire]
  const parser = createParser({ onEvent: ({ data }) => read(data, turn, listener, onArguments) })
  const decoder = new TextDecoder()
  for await (const bytes of response.body) parser.feed(decoder.decode(bytes, { stream: true }))
  return turn
}

/**
 * The obvious solution: `fetch`, a parser for server-sent events, and `JSON.parse`. All others are
 * compared with it.
 */
const client: Client = {
  label: 'reference',
  packages: ['eventsource-parser'],
  wires: ['chat', 'responses', 'messages'],
  imports: `export { createParser } from 'eventsource-parser'`,
  open: (setting) => ({
    async answer(prompt, listener) {
      await send(requestOf(setting, [{ role: 'user', content: prompt }]), setting.wire, listener)
    },
    loop: (prompt, listener) =>
      floorLoop(setting, prompt, (request) => send(request, setting.wire, listener)),
    partials: (prompt, listener) =>
      floorLoop(setting, prompt, (request) => send(request, setting.wire, listener, countContent(listener))),
  }),
}

export default client
