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
import { MillraceError, mergeSettings, pushEvents, toMillraceError } from '../protocol/index.ts'

export interface GenerationOptions {
  readonly model: Model
  readonly request: ModelRequest
  /** Resumes the generation that this checkpoint belongs to. */
  readonly resume?: ProviderData | undefined
  readonly clock: Clock
  /** How long the first event may take, and each one after it. */
  readonly firstEventMs: number
  readonly idleMs: number
  /** Called for every event but the last. If it throws, the generation ends with that error. */
  readonly onEvent: (event: Exclude<ModelEvent, DoneEvent>) => void
  /** Must not throw. */
  readonly observer?: CallObserver | undefined
}

/** Times since the generation started. */
export interface Elapsed {
  readonly firstEventMs?: number
  readonly ms: number
}

export interface Generation {
  /** Never rejects. Settles as soon as the model is done, fails, times out or is stopped. */
  readonly end: Promise<CallEnd>
  elapsed(): Elapsed
  /** Aborts the request and settles `end` at once. Later events of the model are ignored. */
  stop(error: MillraceError): void
}

/** An event takes about a microsecond, so other work waits less than a millisecond. */
const eventsPerTurn = 256

/** Sends one request to a model, or resumes an earlier one, and passes its events on. */
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
  let ended = false
  let count = 0
  let cancelTimer = () => {}
  const end = Promise.withResolvers<CallEnd>()

  function finish(outcome: CallEnd) {
    if (ended) return
    ended = true
    latestAt = clock.now()
    cancelTimer()
    end.resolve(outcome)
    if (outcome.error) controller.abort(outcome.error)
    observer?.end(outcome)
  }

  // One timer that checks the time of the latest event when it fires. Resetting a timer for each
  // event would cost more than everything else done for the event. It waits for the shorter of the two
  // limits, so that the first event need not start another one.
  function startTimer(ms: number) {
    if (!Number.isFinite(ms)) return
    cancelTimer = clock.after(ms, () => {
      const limit = firstAt === undefined ? firstEventMs : idleMs
      const left = limit - (clock.now() - latestAt)
      // Below the timer's resolution counts as expired: sums of fractions never quite reach the
      // limit.
      if (left >= 1) return startTimer(Math.min(left, idleMs))
      const problem = firstAt === undefined ? 'sent no first event' : 'sent no event'
      finish({ error: failure('timeout', `the model '${model.id}' ${problem} for ${limit} ms`) })
    })
  }

  async function readStream() {
    const { signal } = controller
    const { wire, headers } = observer ?? {}
    const sentRequest = headers ? withHeaders(request, headers) : request
    const options = wire ? { signal, wire } : { signal }
    const stream = resume
      ? model.background?.resume(resume, sentRequest, options)
      : model.stream(sentRequest, options)
    if (typeof stream?.[Symbol.asyncIterator] !== 'function')
      throw new TypeError(
        `stream() of the model '${model.id}' must return an async iterable, as async *stream() does`,
      )
    await pushEvents(stream, onEvents)
    if (ended) return
    const message = `the stream of '${model.id}' ended without its terminal event`
    finish({ error: failure('stream_error', message) })
  }

  function onEvents(events: readonly ModelEvent[]): boolean | Promise<boolean> {
    if (ended) return false
    latestAt = clock.now()
    observer?.received?.()
    firstAt ??= latestAt
    return handleEvents(events, 0)
  }

  function handleEvents(events: readonly ModelEvent[], start: number): boolean | Promise<boolean> {
    // An empty list counts too: a model that passes on only empty lists could not be canceled
    // otherwise.
    for (let at = start; at < Math.max(1, events.length) && !ended; at++) {
      if (at < events.length) handleEvent(events[at] as ModelEvent)
      // A model that never awaits anything would block timers and sockets, and with them its
      // cancellation.
      if (!ended && ++count % eventsPerTurn === 0) return continueLater(events, at + 1)
    }
    return !ended
  }

  async function continueLater(events: readonly ModelEvent[], start: number): Promise<boolean> {
    await clock.turn()
    latestAt = clock.now()
    return start < events.length ? handleEvents(events, start) : !ended
  }

  function handleEvent(event: ModelEvent) {
    if (typeof event !== 'object' || event === null)
      throw new TypeError(`the model '${model.id}' sent ${event} instead of an event`)
    if (event.type === 'done') finish({ done: event })
    else onEvent(event)
  }

  function start() {
    readStream().catch((thrown: unknown) => {
      finish({ error: toMillraceError(thrown, { op: 'model.stream', code: 'llm_error' }) })
    })
  }

  startTimer(Math.min(firstEventMs, idleMs))
  if (observer?.runInContext) observer.runInContext(start)
  else start()
  return {
    end: end.promise,
    elapsed: () => ({
      ...(firstAt !== undefined && { firstEventMs: firstAt - startedAt }),
      ms: (ended ? latestAt : clock.now()) - startedAt,
    }),
    stop: (error) => finish({ error }),
  }
}

/** Adds headers that the caller has not set. Names are compared case-insensitively. */
function withHeaders(request: ModelRequest, headers: Readonly<Record<string, string>>): ModelRequest {
  const { settings } = request
  const callerNames = new Set(Object.keys(settings.headers ?? {}).map((name) => name.toLowerCase()))
  const added = Object.entries(headers).filter(([name]) => !callerNames.has(name.toLowerCase()))
  return { ...request, settings: mergeSettings({ headers: Object.fromEntries(added) }, settings) }
}

function failure(code: 'timeout' | 'stream_error', message: string): MillraceError {
  return new MillraceError({ op: 'model.stream', code, message })
}
