import type { MillraceError, PublicError } from '../../protocol/index.ts'
import { eventStreamHeaders, invalidInput, systemClock } from '../../protocol/index.ts'
import { stopAnswer } from '../answers.ts'
import { disconnects } from '../disconnect.ts'
import { httpError, noThread } from '../http-error.ts'
import type { Caller, ProtocolHost, RouteContext, StreamSlot } from '../protocol.ts'
import type { AnswerFold } from './answer-fold.ts'
import { answerFold } from './answer-fold.ts'
import type { AnswerWriter } from './answer-writer.ts'
import { conversations } from './conversations.ts'
import type { ModelRequest, Place } from './model-request.ts'
import { runFailure } from './run-failure.ts'

/** How a response is streamed in the format of a protocol. */
interface StreamFormat {
  readonly writer: AnswerWriter
  readonly headers: Readonly<Record<string, string>>
  readonly heartbeat: string
  /** The frame to send if the log cannot be read, the server closes, or access was revoked. */
  fail(error: PublicError): string
  /** The run continues if the client disconnects. */
  readonly isBackground?: boolean
  /** For a client that resumes: entries up to this number are applied, and their frames dropped. */
  readonly resumeAfter?: number | undefined
}

interface StreamContext {
  readonly slot: StreamSlot
  /** Of the request: aborted when the client has disconnected. */
  readonly signal: AbortSignal
}

/** Agents as models: what the protocols of model providers have in common. */
export interface ModelApi {
  /** The agent that a request names as its model. Throws 400 or 404 if there is none. */
  agentOf(model: unknown): string
  /** Sends what is new in a request, and returns the place of the response. Call `openStream` first. */
  send(caller: Caller, request: ModelRequest): Promise<Place>
  /** Finds a response by its id, which starts with `prefix` and `_`. Throws 404 if there is none. */
  find(caller: Caller, prefix: string, id: string): Promise<Place>
  /**
   * Streams a response. Rejects with an HTTP error if the run fails before it has an output, so
   * that clients see the status that a provider would send.
   */
  stream(context: StreamContext, place: Place, format: StreamFormat): Promise<Response>
  /**
   * Reads a response to its end, and rejects with an HTTP error if the run fails. The run is stopped
   * if the client disconnects, unless `isBackground`.
   */
  complete(
    context: RouteContext,
    place: Place,
    options: { readonly writer: AnswerWriter; readonly isBackground?: boolean },
  ): Promise<void>
  /** Reads a response as far as it has come. */
  readNow(place: Place, writer: AnswerWriter): Promise<void>
  /** Stops the run of a response, if it is running, and waits until it has ended. */
  stop(place: Place, reason: string): Promise<void>
  close(): void
}

export interface ModelApiOptions {
  /** The function that the options were passed to, for errors. */
  readonly op: string
  /** The agent for model names that no agent has. */
  readonly agent?: string | undefined
  /** How long a client may take to come back before the run is stopped. If undefined, it continues. */
  readonly graceMs: number | undefined
}

/** For how long the first output is awaited before the response starts without it. */
const firstOutputMs = 10_000

export function modelApi(host: ProtocolHost, { op, agent, graceMs }: ModelApiOptions): ModelApi {
  const { agents, clientOptions } = host
  if (agent !== undefined && !agents.includes(agent))
    throw invalidInput(op, `there is no agent '${agent}'. The server has: ${agents.join(', ')}`)
  const readers = disconnects({ graceMs, onError: (thrown) => void host.publicError(thrown) })
  const { send, place } = conversations({ clientOptions, readers })

  /** Counts a reader. Call the returned function when it has left. */
  function join({ thread, answers, after }: Place, isBackground = false) {
    const leave = readers.join({ thread, answers, after, head: 0 })
    return isBackground ? () => leave({ isCut: false }) : leave
  }

  async function stream(
    { slot, signal }: StreamContext,
    place: Place,
    format: StreamFormat,
  ): Promise<Response> {
    const { writer, headers, heartbeat, isBackground, resumeAfter } = format
    const { thread } = place
    const fold = answerFold(place, writer)
    const leave = join(place, isBackground)
    slot.signal.addEventListener('abort', () => {
      // Also aborted after the end, and by the server if it closes or access was revoked.
      const { code } = slot.signal.reason as MillraceError
      leave({ isCut: !fold.isDone && code === 'invalid_input' })
    })
    const early =
      resumeAfter === undefined
        ? await readFirst(place, fold, { signals: [slot.signal, signal], waits: !isBackground })
        : await readUpTo(place, fold, resumeAfter)
    return slot.follow(
      thread,
      { after: early.last, until: untilOf(place) },
      {
        headers: { ...eventStreamHeaders, 'x-thread-id': thread.id, ...headers },
        open: () => early.frames,
        entry: fold.entry,
        isDone: () => fold.isDone,
        end: fold.end,
        fail: format.fail,
        heartbeat,
      },
    )
  }

  return {
    agentOf(model) {
      if (typeof model !== 'string' || !model)
        throw httpError(400, 'invalid_input', "'model' is missing: the name of an agent", { param: 'model' })
      const found = agents.includes(model) ? model : agent
      if (found === undefined)
        throw httpError(
          404,
          'not_found',
          `the model '${model}' does not exist. This server has: ${agents.join(', ')}`,
          { param: 'model' },
        )
      return found
    },
    send,
    async find(caller, prefix, id) {
      const [, threadId, start] = new RegExp(`^${prefix}_(.+)_(\\d{1,15})$`).exec(id) ?? []
      const { thread } = await caller.getThread(threadId ?? '')
      const found = await place(thread, Number(start))
      if (!found) throw noThread()
      return found
    },
    stream,
    async complete({ signal }, place, { writer, isBackground }) {
      const fold = answerFold(place, writer)
      const leave = join(place, isBackground)
      try {
        await readToEnd(place, fold, signal)
      } finally {
        leave({ isCut: !fold.isDone })
      }
      if (!fold.isDone) fold.end()
      if (fold.error && fold.error.code !== 'stream_interrupted') throw runFailure(fold.error)
    },
    async readNow(place, writer) {
      const fold = answerFold(place, writer)
      await readUpTo(place, fold, Number.POSITIVE_INFINITY)
    },
    async stop(place, reason) {
      const { thread, answers, after } = place
      await stopAnswer({ thread, answers, after, head: 0 }, reason)
      await readToEnd(place, answerFold(place, silentWriter))
    },
    close: readers.close,
  }
}

/** A message may also be stopped before a run has read it. */
function untilOf({ start, answers }: Place): number | 'idle' {
  return answers === start ? start : 'idle'
}

/**
 * Reads the first output of a response. Rejects with an HTTP error if the run fails before: nothing
 * was sent yet, and clients retry by the status.
 */
async function readFirst(
  place: Place,
  fold: AnswerFold,
  { signals, waits }: { readonly signals: readonly AbortSignal[]; readonly waits: boolean },
) {
  const timer = new AbortController()
  const cancel = systemClock.after(firstOutputMs, () => timer.abort())
  let frames = ''
  let last = place.after
  try {
    const options = {
      after: place.after,
      until: untilOf(place),
      signal: AbortSignal.any([...signals, timer.signal]),
    }
    for await (const entry of waits ? place.thread.follow(options) : []) {
      frames += fold.entry(entry)
      last = entry.seq
      if (fold.hasOutput || fold.isDone) break
    }
  } finally {
    cancel()
  }
  if (fold.error && !fold.hasOutput && fold.error.code !== 'stream_interrupted') throw runFailure(fold.error)
  return { frames, last }
}

/** Reads the log up to a number, entry by entry as it was first written. */
async function readUpTo({ thread, after }: Place, fold: AnswerFold, upTo: number) {
  let frames = ''
  let last = after
  while (!fold.isDone) {
    const page = await thread.read({ after: last, split: Number.isFinite(upTo) })
    for (const entry of page) {
      if (entry.seq > upTo || fold.isDone) return { frames, last }
      frames += fold.entry(entry)
      last = entry.seq
    }
    if (page.length === 0) break
  }
  return { frames, last }
}

async function readToEnd(place: Place, fold: AnswerFold, signal?: AbortSignal) {
  const { thread, after } = place
  for await (const entry of thread.follow({ after, until: untilOf(place), signal })) {
    fold.entry(entry)
    if (fold.isDone) break
  }
}

const nothing = () => ''

const silentWriter: AnswerWriter = {
  start: nothing,
  roundStart: nothing,
  delta: nothing,
  closePart: nothing,
  callStart: nothing,
  callDelta: nothing,
  callComplete: nothing,
  callResult: nothing,
  callVoid: nothing,
  approvalRequest: nothing,
  retract: nothing,
  end: nothing,
}

/** The id of a response: it says where the response is, so that no table is needed. */
export function placeId(prefix: string, { thread, start }: Pick<Place, 'thread' | 'start'>): string {
  return `${prefix}_${thread.id}_${start}`
}
