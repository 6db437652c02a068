import type { Transport } from './sdk.ts'
import { acceptTask } from './task-result.ts'

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

  return listening(transport, {
    get: () => listener,
    set: (next) => {
      listener = next
    },
    receive(...message) {
      waiting.push(message)
      if (!isBusy) void deliver()
    },
  })
}

/** Delivers messages as they arrive. */
export function withTasks<T extends Transport>(transport: T): T {
  let listener: Listener | undefined
  return listening(transport, {
    get: () => listener,
    set: (next) => {
      listener = next
    },
    receive: (...message) => listener?.(...message),
  })
}

interface Receiver {
  get(): Listener | undefined
  set(listener: Listener | undefined): void
  receive: Listener
}

function listening<T extends Transport>(transport: T, { get, set, receive }: Receiver): T {
  const receiveAny: Listener = (message, extra) => receive(acceptTask(message), extra)
  return Object.defineProperty(transport, 'onmessage', { get: () => get() && receiveAny, set })
}
