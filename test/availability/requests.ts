import { randomUUID } from 'node:crypto'
import type { Random } from '../survival/random.ts'
import { hostileUser, longThread, tokenOf } from './options.ts'

/** One kind of attack, which the hostile caller repeats. Returns a word for its outcome. */
export type Attack = (random: Random) => Promise<string>

const headers = {
  authorization: `Bearer ${tokenOf(hostileUser)}`,
  'content-type': 'application/json',
}

/** Attacks by single requests. */
export function requests(
  url: string,
  { calls, longEntries }: { calls: number; longEntries: number },
): Readonly<Record<string, Attack>> {
  async function ask(method: string, path: string, body?: object, more: Record<string, string> = {}) {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { ...headers, ...more },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    })
    // Read in pieces and discarded, so that large responses do not fill this process.
    for await (const _ of response.body ?? []) {
    }
    return String(response.status)
  }

  /** Creates a thread and sends a message. */
  async function sendToNew(
    message: string,
    options: { readonly mode?: string; readonly metadata?: object } = {},
  ) {
    const { metadata, ...say } = options
    const id = randomUUID()
    const created = await ask('POST', '/threads', { id, ...(metadata && { metadata }) })
    return created === '201' ? ask('POST', `/threads/${id}/messages`, { message, ...say }) : created
  }

  const long = `/threads/${longThread}`
  const events = { accept: 'text/event-stream' }
  const page = { accept: 'application/json' }
  const crowded = randomUUID()
  let creating: Promise<string> | undefined

  async function crowd(message: string, mode: string) {
    creating ??= ask('POST', '/threads', { id: crowded })
    await creating
    return ask('POST', `/threads/${crowded}/messages`, { message, mode })
  }

  return {
    'large messages': () => crowd('x'.repeat(1_000_000), 'queue'),
    'large metadata': () => ask('POST', '/threads', { metadata: { note: 'y'.repeat(900_000) } }),
    'middling metadata': () => ask('POST', '/threads', { metadata: { note: 'y'.repeat(16_000) } }),
    'lists of 1,000': () => ask('GET', '/threads?limit=1000'),
    searches: (random) => ask('GET', `/threads?limit=1000&search=z${random.whole(0, 1e6)}`),
    'state of the long thread': () => ask('GET', long),
    'state of the crowded thread': () => ask('GET', `/threads/${crowded}`),
    'pages of the long thread': (random) =>
      ask('GET', `${long}/events?after=${random.whole(0, longEntries)}&limit=10000`, undefined, page),
    'long thread as a script': () => ask('GET', `${long}/test-script`),
    'messages to the long thread': () => ask('POST', `${long}/messages`, { message: 'hello' }, events),
    'slow runs': () => sendToNew('slow'),
    interrupts: () => crowd('slow', 'interrupt'),
    [`rounds of ${calls} calls`]: () => sendToNew(`calls ${calls}`),
    'large results': () => sendToNew('large 8'),
    async 'forks of the long thread'(random) {
      const id = randomUUID()
      const forked = await ask('POST', `${long}/fork`, { id, at: random.whole(1, longEntries) })
      return `${forked}, ${await ask('DELETE', `/threads/${id}`)}`
    },
    'wrong tokens': (random) =>
      ask('GET', '/threads', undefined, { authorization: `Bearer ${random.whole(0, 1e9)}` }),
    'long headers': () => ask('GET', '/threads', undefined, { 'x-long': 'h'.repeat(60_000) }),
  }
}
