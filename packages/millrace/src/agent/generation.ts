import type {
  CallEnd,
  CallObserver,
  Clock,
  DoneEvent,
  Model,
  ModelEvent,
  ModelRequest,
  ProviderData,
} from '../protocol/index.ts'
import { MillraceError, mergeSettings, toMillraceError } from '../protocol/index.ts'

export interface GenerationOptions {
  readonly model: Model
  readonly request: ModelRequest
  /** Continues the generation that this checkpoint belongs to. */
  readonly resume?: ProviderData | undefined
  readonly clock: Clock
  /** How long the first event may take, and each one after it. */
  readonly firstEventMs: number
  readonly idleMs: number
  /** Called for every event but the last. What it throws ends the generation. */
  readonly onEvent: (event: Exclude<ModelEvent, DoneEvent>) => void
  /** Must not throw. */
  readonly observer?: CallObserver | undefined
}

/** How long it has taken so far. */
export interface Elapsed {
  readonly firstEventMs?: number
  readonly ms: number
}

export interface Generation {
  /** Never rejects. Settles as soon as the model is done, fails, falls silent or is stopped. */
  readonly end: Promise<CallEnd>
  elapsed(): Elapsed
  /** Aborts the request and settles `end` at once; the model is not listened to any more, whatever it does. */
  stop(error: MillraceError): void
}

/** At a microsecond or so for an event, others wait less than a millisecond. */
const eventsPerTurn = 256

/** Sends one request to a model, or continues one that was sent, and passes on what it says. */
export function generate({
  model,
  request,
  resume,
  clock,
  firstEventMs,
  idleMs,
  onEvent,
  observer,
}: GenerationOptions): Generation {
  const controller = new AbortController()
  const startedAt = clock.now()
  let firstAt: number | undefined
  let latestAt = startedAt
  let over = false
  let cancelTimer = () => {}
  const end = Promise.withResolvers<CallEnd>()

  function finish(outcome: CallEnd) {
    if (over) return
    over = true
    latestAt = clock.now()
    cancelTimer()
    end.resolve(outcome)
    if (outcome.error) controller.abort(outcome.error)
    observer?.end(outcome)
  }

  // One timer that looks at the time of the latest event when it fires: setting one anew for each event would cost more
  // than all the rest that is done for it.
  function watch(ms: number) {
    if (!Number.isFinite(ms)) return
    cancelTimer = clock.after(ms, () => {
      const limit = firstAt === undefined ? firstEventMs : idleMs
      const left = limit - (clock.now() - latestAt)
      // Less than a timer can tell apart is over: sums of fractions never quite reach the limit.
      if (left >= 1) return watch(left)
      const silence = firstAt === undefined ? 'did not begin to answer' : 'fell silent'
      finish({ error: failure('timeout', `the model '${model.id}' ${silence} for ${limit} ms`) })
    })
  }

  async function listen() {
    const { signal } = controller
    const { wire, headers } = observer ?? {}
    const asked = headers ? withHeaders(request, headers) : request
    const options = wire ? { signal, wire } : { signal }
    const stream = resume ? model.background?.resume(resume, asked, options) : model.stream(asked, options)
    if (typeof stream?.[Symbol.asyncIterator] !== 'function')
      throw new TypeError(
        `stream() of the model '${model.id}' must return an async iterable, as async *stream() does`,
      )
    const iterator = (stream.batches?.() ?? stream)[Symbol.asyncIterator]()
    try {
      await hear(iterator)
    } finally {
      // Lets the model close its socket. Nobody waits for it.
      await iterator.return?.()
    }
  }

  async function hear(iterator: AsyncIterator<ModelEvent | readonly ModelEvent[]>) {
    let count = 0
    while (!over) {
      const { done, value } = await iterator.next()
      if (over) return
      if (done) {
        const message = `the stream of '${model.id}' ended without its terminal event`
        return finish({ error: failure('stream_error', message) })
      }
      latestAt = clock.now()
      observer?.received?.()
      if (firstAt === undefined) {
        firstAt = latestAt
        cancelTimer()
        watch(idleMs)
      }
      const events = Array.isArray(value) ? value : [value]
      // An empty list counts too, or a model that gives nothing else would never be cancelled.
      for (let at = 0; at < Math.max(1, events.length) && !over; at++) {
        if (at < events.length) take(events[at])
        // A model that never waits for anything would keep timers and sockets from their turn, and so from being cancelled.
        if (over || ++count % eventsPerTurn !== 0) continue
        await clock.turn()
        latestAt = clock.now()
      }
    }
  }

  function take(event: ModelEvent) {
    if (typeof event !== 'object' || event === null)
      throw new TypeError(`the model '${model.id}' sent ${event} for an event`)
    if (event.type === 'done') finish({ done: event })
    else onEvent(event)
  }

  function begin() {
    listen().catch((thrown: unknown) => {
      finish({ error: toMillraceError(thrown, { op: 'model.stream', code: 'llm_error' }) })
    })
  }

  watch(firstEventMs)
  if (observer?.within) observer.within(begin)
  else begin()
  return {
    end: end.promise,
    elapsed: () => ({
      ...(firstAt !== undefined && { firstEventMs: firstAt - startedAt }),
      ms: (over ? latestAt : clock.now()) - startedAt,
    }),
    stop: (error) => finish({ error }),
  }
}

/** Those of the caller count more, in upper or lower case. */
function withHeaders(request: ModelRequest, headers: Readonly<Record<string, string>>): ModelRequest {
  const { settings } = request
  const own = new Set(Object.keys(settings.headers ?? {}).map((name) => name.toLowerCase()))
  const more = Object.entries(headers).filter(([name]) => !own.has(name.toLowerCase()))
  return { ...request, settings: mergeSettings({ headers: Object.fromEntries(more) }, settings) }
}

function failure(code: 'timeout' | 'stream_error', message: string): MillraceError {
  return new MillraceError({ op: 'model.stream', code, message })
}
