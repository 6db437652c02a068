import type { Clock, JsonObject } from 'millrace'
import { sleep } from 'millrace/internal'
import { badRequest, wrongType } from './check-openai.ts'
import type { Failure } from './failures.ts'
import type { Regenerate } from './fault-frames.ts'
import { dataOf } from './fault-rendered.ts'
import { isJsonObject } from './json-object.ts'
import type { StoredRoute } from './routes.ts'
import type { TimelineItem } from './wire.ts'

/** A response that is generated whether or not a client is connected. */
interface Generation {
  /** The initial response. */
  readonly queued: JsonObject
  /** The current response: its status and the completed output items. */
  current(): JsonObject
  /**
   * The events after number `after`, as they are generated. No terminal event if it is canceled.
   */
  follow(after: number): readonly TimelineItem[]
  /** Stops the generation. A completed response is not affected. */
  cancel(): void
}

interface BackgroundOptions {
  /** Whether the request asked for a stream. Only then can another request stream it. */
  readonly streamed: boolean
  readonly regenerate: Regenerate
  /** The response is not stored: later requests do not find it. */
  readonly expired: boolean
}

export interface StoredResponses {
  /** Stores a response that was generated synchronously. */
  keep(response: JsonObject): void
  /** Starts a background generation. Its first event has its id. */
  start(timeline: readonly TimelineItem[], options: BackgroundOptions): Generation
  /** Answers a request for a stored response, with an object or a stream. */
  timeline(
    route: StoredRoute,
  ):
    | Failure
    | { readonly json: JsonObject }
    | { readonly timeline: readonly TimelineItem[]; readonly regenerate: Regenerate }
}

interface Entry {
  readonly response: () => JsonObject
  /** Absent if the response was not generated in the background. */
  readonly background?: BackgroundOptions & { readonly generation: Generation }
}

/** Stored responses, by id. */
export function storedResponses(time: {
  readonly clock: Clock
  readonly closing: AbortSignal
}): StoredResponses {
  const entries = new Map<string, Entry>()

  function stream({ background }: Entry, { query }: StoredRoute): ReturnType<StoredResponses['timeline']> {
    if (!background) return notStreamable('background=true')
    if (!background.streamed) return notStreamable('stream=true')
    const after = query.get('starting_after')
    if (after !== null && !/^-?\d+$/.test(after)) return wrongType('starting_after', 'an integer', after)
    const { generation, regenerate } = background
    return { timeline: generation.follow(Number(after ?? -1)), regenerate }
  }

  return {
    keep(response) {
      entries.set(String(response.id), { response: () => response })
    },
    start(timeline, options) {
      const generation = generate(timeline, time)
      const background = { ...options, generation }
      const { id } = generation.queued
      if (!options.expired) entries.set(String(id), { response: generation.current, background })
      return generation
    },
    timeline(route) {
      const { action, id, query } = route
      const entry = entries.get(id)
      if (!entry) return { status: 404, message: `Response with id '${id}' not found.` }
      if (action === 'retrieve' && query.get('stream') === 'true') return stream(entry, route)
      if (action === 'cancel' && !entry.background) return badRequest('Cannot cancel a synchronous response.')
      if (action !== 'retrieve') entry.background?.generation.cancel()
      if (action !== 'delete') return { json: entry.response() }
      entries.delete(id)
      return { json: { id, object: 'response', deleted: true } }
    },
  }
}

const notStreamable = (flag: string) =>
  badRequest(
    `This response cannot be streamed because it was not created with ${flag}.`,
    'stream',
    'invalid_request_error',
  )

function generate(
  timeline: readonly TimelineItem[],
  { clock, closing }: { readonly clock: Clock; readonly closing: AbortSignal },
): Generation {
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, closing])
  /** What connections wait for at pauses of the generation. */
  const gates = new Map(
    timeline
      .filter((item) => 'pauseMs' in item || isHang(item))
      .map((item) => [item, Promise.withResolvers<boolean>()]),
  )
  let generated = 0
  let canceled = false

  async function run() {
    for (const item of timeline) {
      if ('pauseMs' in item) await sleep(item.pauseMs, { clock, signal })
      if (isHang(item)) await aborted(signal)
      gates.get(item)?.resolve(!signal.aborted)
      if (signal.aborted) return
      generated++
    }
  }

  const responsesIn = (events: readonly JsonObject[]) =>
    events.map((event) => event.response).filter((response) => isJsonObject(response))

  function current(): JsonObject {
    const events = timeline.slice(0, generated).map(dataOf)
    const response = responsesIn(events).at(-1) ?? {}
    if (canceled) return { ...response, status: 'cancelled' }
    if (response.status !== 'in_progress') return response
    const done = events.filter(({ type }) => type === 'response.output_item.done')
    return { ...response, output: done.map(({ item }) => item ?? null) }
  }

  run()
  return {
    queued: responsesIn(timeline.map(dataOf))[0] ?? {},
    current,
    follow(after) {
      const all: readonly TimelineItem[] = canceled
        ? [...timeline.slice(0, generated), { stop: 'end' }]
        : timeline
      const rest = all.filter((item) => !('frame' in item) || Number(dataOf(item).sequence_number) > after)
      return rest.map((item) => {
        const gate = gates.get(item)
        return gate ? { gate: gate.promise } : item
      })
    },
    cancel() {
      canceled ||= current().status === 'in_progress'
      stop.abort()
    },
  }
}

const isHang = (item: TimelineItem) => 'stop' in item && item.stop === 'hang'

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
