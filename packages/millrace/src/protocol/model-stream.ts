import type { ModelEvent } from './events.ts'
import type { ModelStream, OnEvents } from './model.ts'

/** Passes on the events of any stream as `pushTo` does: one by one if it has no `pushTo`. */
export async function pushEvents(stream: ModelStream, onEvents: OnEvents): Promise<void> {
  if (stream.pushTo) return stream.pushTo(onEvents)
  for await (const event of stream) {
    const wantsMore = onEvents([event])
    if (!(typeof wantsMore === 'boolean' ? wantsMore : await wantsMore)) return
  }
}

/** A stream that pushes its events. Nothing starts before the first event is asked for. */
export function pushedStream(pushTo: NonNullable<ModelStream['pushTo']>): ModelStream {
  return { pushTo, [Symbol.asyncIterator]: () => iterate(pushTo) }
}

/** Events that wait to be read. */
interface Waiting {
  readonly events: readonly ModelEvent[]
  readonly proceed: (wantsMore: boolean) => void
}

async function* iterate(
  pushTo: NonNullable<ModelStream['pushTo']>,
): AsyncGenerator<ModelEvent, void, undefined> {
  let next = Promise.withResolvers<Waiting | undefined>()
  let waiting: Waiting | undefined
  let hasLeft = false
  const ended = pushTo((events) => {
    const taken = Promise.withResolvers<boolean>()
    next.resolve({ events, proceed: taken.resolve })
    return taken.promise
  })
  ended.then(
    () => next.resolve(undefined),
    (thrown) => hasLeft || next.reject(thrown),
  )
  try {
    for (;;) {
      waiting = await next.promise
      if (!waiting) return
      yield* waiting.events
      next = Promise.withResolvers()
      waiting.proceed(true)
      waiting = undefined
    }
  } finally {
    hasLeft = true
    waiting?.proceed(false)
    // Until everything is released. A failure was thrown above.
    await ended.catch(() => {})
  }
}
