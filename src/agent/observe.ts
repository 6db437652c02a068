import type { CallObserver, ModelCall, ObserveCall } from '../protocol/index.ts'

/** Begins to tell of a model call, if anybody wants to know. Who looks on never gets in the way: what it throws is dropped. */
export function observed(observe: ObserveCall | undefined, call: ModelCall): CallObserver | undefined {
  const observer = observe && quietly(() => observe(call))
  return (
    observer && {
      wire: {
        sent: (request) => quietly(() => observer.wire.sent(request)),
        answered: (answer) => quietly(() => observer.wire.answered(answer)),
        received: (text) => quietly(() => observer.wire.received(text)),
      },
      end: (error) => quietly(() => observer.end(error)),
    }
  )
}

function quietly<Value>(work: () => Value): Value | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
