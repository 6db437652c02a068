import type { Transport } from './sdk.ts'

type Listener = NonNullable<Transport['onmessage']>
type Message = Parameters<Listener>

/**
 * Hands on messages that arrive together one at a time. The SDK takes a result at once but a notification a moment later: of a
 * call that reports and ends in one piece of stream the reports would come too late.
 */
export function inTurn<T extends Transport>(transport: T): T {
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
