import type { Transport } from './sdk.ts'

type Listener = NonNullable<Transport['onmessage']>
type Message = Parameters<Listener>

/**
 * Delivers messages that arrive together one at a time. The SDK handles a result at once but a
 * notification a moment later: if both arrive in one chunk, progress would come after the result.
 */
export function inOrder<T extends Transport>(transport: T): T {
  const waiting: Message[] = []
  let listener: Listener | undefined
  let isBusy = false

  async function deliver() {
    isBusy = true
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      listener?.(...next)
      if (!('id' in next[0])) await new Promise(setImmediate)
    }
    isBusy = false
  }

  const receive = (...message: Message) => {
    waiting.push(message)
    if (!isBusy) void deliver()
  }
  return Object.defineProperty(transport, 'onmessage', {
    get: () => listener && receive,
    set: (next: Listener | undefined) => {
      listener = next
    },
  })
}
