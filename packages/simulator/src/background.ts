import type { Clock, JsonObject } from 'millrace'
import { sleep } from 'millrace/internal'
import { refusal, wrongType } from './check-openai.ts'
import type { Failure } from './failures.ts'
import type { AnswerAgain } from './fault-frames.ts'
import { dataOf } from './fault-rendered.ts'
import { isJsonObject } from './json-object.ts'
import type { StoredRoute } from './routes.ts'
import type { Beat } from './wire.ts'

/** A response that is generated whether or not a client is connected. */
interface Generation {
  /** The response before anything was generated. */
  readonly queued: JsonObject
  /** The response as it stands: its status, and the output items that are done. */
  current(): JsonObject
  /** The events numbered above `after`, each when it is generated; no terminal event if it is cancelled. */
  follow(after: number): readonly Beat[]
  /** Ends the generation. A response that is complete stays as it is. */
  cancel(): void
}

interface BackgroundOptions {
  /** Whether the request asked for a stream: only then can another request follow it. */
  readonly streamed: boolean
  readonly answerAgain: AnswerAgain
  /** The provider forgets the response: other requests do not find it. */
  readonly expired: boolean
}

export interface StoredResponses {
  /** Keeps a response that was generated for its own connection. */
  keep(response: JsonObject): void
  /** Starts a background generation, whose first event names its id. */
  start(beats: readonly Beat[], options: BackgroundOptions): Generation
  /** What OpenAI answers to a request for a stored response: an object, or the events of a stream. */
  answer(
    route: StoredRoute,
  ):
    | Failure
    | { readonly json: JsonObject }
    | { readonly beats: readonly Beat[]; readonly answerAgain: AnswerAgain }
}

interface Entry {
  readonly response: () => JsonObject
  /** Absent if the response was not generated in the background. */
  readonly background?: BackgroundOptions & { readonly generation: Generation }
}

/** The responses that OpenAI keeps, by id. */
export function storedResponses(time: {
  readonly clock: Clock
  readonly closing: AbortSignal
}): StoredResponses {
  const entries = new Map<string, Entry>()

  function stream({ background }: Entry, { query }: StoredRoute): ReturnType<StoredResponses['answer']> {
    if (!background) return notStreamable('background=true')
    if (!background.streamed) return notStreamable('stream=true')
    const after = query.get('starting_after')
    if (after !== null && !/^-?\d+$/.test(after)) return wrongType('starting_after', 'an integer', after)
    const { generation, answerAgain } = background
    return { beats: generation.follow(Number(after ?? -1)), answerAgain }
  }

  return {
    keep(response) {
      entries.set(String(response.id), { response: () => response })
    },
    start(beats, options) {
      const generation = generate(beats, time)
      const background = { ...options, generation }
      const { id } = generation.queued
      if (!options.expired) entries.set(String(id), { response: generation.current, background })
      return generation
    },
    answer(route) {
      const { action, id, query } = route
      const entry = entries.get(id)
      if (!entry) return { status: 404, message: `Response with id '${id}' not found.` }
      if (action === 'retrieve' && query.get('stream') === 'true') return stream(entry, route)
      if (action === 'cancel' && !entry.background) return refusal('Cannot cancel a synchronous response.')
      if (action !== 'retrieve') entry.background?.generation.cancel()
      if (action !== 'delete') return { json: entry.response() }
      entries.delete(id)
      return { json: { id, object: 'response', deleted: true } }
    },
  }
}

const notStreamable = (flag: string) =>
  refusal(
    `This response cannot be streamed because it was not created with ${flag}.`,
    'stream',
    'invalid_request_error',
  )

function generate(
  beats: readonly Beat[],
  { clock, closing }: { readonly clock: Clock; readonly closing: AbortSignal },
): Generation {
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, closing])
  /** What connections wait for where the generation takes its time. */
  const gates = new Map(
    beats
      .filter((beat) => 'pauseMs' in beat || isHang(beat))
      .map((beat) => [beat, Promise.withResolvers<boolean>()]),
  )
  let made = 0
  let cancelled = false

  async function run() {
    for (const beat of beats) {
      if ('pauseMs' in beat) await sleep(beat.pauseMs, { clock, signal })
      if (isHang(beat)) await aborted(signal)
      gates.get(beat)?.resolve(!signal.aborted)
      if (signal.aborted) return
      made++
    }
  }

  const responsesIn = (events: readonly JsonObject[]) =>
    events.map((event) => event.response).filter((response) => isJsonObject(response))

  function current(): JsonObject {
    const events = beats.slice(0, made).map(dataOf)
    const response = responsesIn(events).at(-1) ?? {}
    if (cancelled) return { ...response, status: 'cancelled' }
    if (response.status !== 'in_progress') return response
    const done = events.filter(({ type }) => type === 'response.output_item.done')
    return { ...response, output: done.map(({ item }) => item ?? null) }
  }

  run()
  return {
    queued: responsesIn(beats.map(dataOf))[0] ?? {},
    current,
    follow(after) {
      const all: readonly Beat[] = cancelled ? [...beats.slice(0, made), { stop: 'end' }] : beats
      const rest = all.filter((beat) => !('frame' in beat) || Number(dataOf(beat).sequence_number) > after)
      return rest.map((beat) => {
        const gate = gates.get(beat)
        return gate ? { gate: gate.promise } : beat
      })
    },
    cancel() {
      cancelled ||= current().status === 'in_progress'
      stop.abort()
    },
  }
}

const isHang = (beat: Beat) => 'stop' in beat && beat.stop === 'hang'

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
