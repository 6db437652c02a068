import type { Transport } from './sdk.ts'
import { acceptTask } from './task-result.ts'

type Listener = NonNullable<Transport['onmessage']>
type Message = Parameters<Listener>

/**
 * Delivers messages that arrive together one at a time. The SDK handles a result at once but a
 * notification a moment later: if both arrive in one chunk, progress would come after the result.
 */
export function inOrder<T extends Transport>(transport: T): T {
  return through(transport, (deliver) => {
    const waiting: Message[] = []
    let isBusy = false
    return async (...message) => {
      waiting.push(message)
      if (isBusy) return
      isBusy = true
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        deliver(...next)
        if (!('id' in next[0])) await new Promise(setImmediate)
      }
      isBusy = false
    }
  })
}

/** Delivers messages as they arrive. */
export function withTasks<T extends Transport>(transport: T): T {
  return through(transport, (deliver) => deliver)
}

/** Passes messages through a function before the SDK gets them. Calls that became tasks are accepted. */
function through<T extends Transport>(transport: T, pass: (deliver: Listener) => Listener): T {
  let listener: Listener | undefined
  const receive = pass((...message) => listener?.(...message))
  const receiveAny: Listener = (message, extra) => receive(acceptTask(message), extra)
  return Object.defineProperty(transport, 'onmessage', {
    get: () => listener && receiveAny,
    set: (next: Listener | undefined) => {
      listener = next
    },
  })
}
