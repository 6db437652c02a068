import type { OptionTable } from '../../protocol/index.ts'
import { checkOptions, eventStreamHeaders, heartbeatFrame, oneOf, wholeNumber } from '../../protocol/index.ts'
import { disconnects } from '../disconnect.ts'
import { httpError } from '../http-error.ts'
import type { Frames, HttpError, Protocol, Route } from '../protocol.ts'
import { runEvents, sseOf } from './run-events.ts'
import type { RunInput } from './run-input.ts'
import { readRunInput } from './run-input.ts'
import type { AgUiRun } from './runs.ts'
import { agUiRuns } from './runs.ts'

export interface AgUiOptions {
  /** Clients post to `${path}/:agent`. Defaults to `/ag-ui`. */
  readonly path?: string | undefined
  /**
   * What happens when the last client that reads a run has disconnected. `stop`, the default, is
   * what `abortRun()` expects: it can only disconnect.
   */
  readonly onDisconnect?: 'stop' | 'continue' | undefined
  /** How long a client may take to reconnect before the run is stopped. Defaults to 3000. */
  readonly graceMs?: number | undefined
}

const table: OptionTable<AgUiOptions> = {
  path: (value) =>
    !(typeof value === 'string' && /^(?:\/[\w.~-]+)+$/.test(value)) && "must be a path such as '/ag-ui'",
  onDisconnect: oneOf('stop', 'continue'),
  graceMs: wholeNumber(0),
}

/** Clients send whole conversations, with images. */
const bodyBytes = 32 * 1024 * 1024

/** The Agent User Interaction Protocol, for `HttpAgent`, CopilotKit and everything built on them. */
export function agUi(options: AgUiOptions = {}): Protocol {
  checkOptions(options, table, { op: 'agUi', what: 'the option' })
  const { path = '/ag-ui', onDisconnect = 'stop', graceMs = 3000 } = options
  return {
    name: `ag-ui ${path}`,
    mount({ agents, clientOptions, publicError }) {
      const readers = disconnects({
        graceMs: onDisconnect === 'stop' ? graceMs : undefined,
        onError: (thrown) => void publicError(thrown),
      })
      const run = agUiRuns({ clientOptions, readers })

      const route: Route = {
        method: 'POST',
        path: `${path}/:agent`,
        bodyBytes,
        async handle({ caller, params, readJson, openStream }) {
          const agent = params.agent as string
          if (!agents.includes(agent))
            throw httpError(
              404,
              'not_found',
              `there is no agent '${agent}'. The server has: ${agents.join(', ')}`,
            )
          const input = readRunInput(await readJson())
          // The slot first: a request that is rejected for lack of one must have no effect.
          const slot = openStream()
          const answer = await run(caller, agent, input)
          if (!answer) return emptyRun(input)
          readers.joinSlot(slot, answer, () => answer.events.isDone)
          const { thread, after } = answer
          return slot.follow(thread, { after, until: 'idle' }, framesOf(answer))
        },
      }
      return { routes: [route], prefixes: [path], error, close: async () => readers.close() }
    },
  }
}

function error({ status, code, message }: HttpError): Response {
  return Response.json({ type: 'RUN_ERROR', message, code }, { status })
}

function framesOf({ thread, events }: AgUiRun): Frames {
  return {
    headers: { ...eventStreamHeaders, 'x-thread-id': thread.id },
    open: () => sseOf(events.start()),
    entry: (entry) => sseOf(events.applyEntry(entry)),
    isDone: () => events.isDone,
    end: () => sseOf(events.end()),
    fail: ({ message, code }) => sseOf([{ type: 'RUN_ERROR', message, code }]),
    heartbeat: heartbeatFrame,
  }
}

/** A client looks at a conversation in which nothing was said yet. */
function emptyRun({ threadId, runId, isCurrent }: RunInput): Response {
  const events = runEvents({
    threadId,
    runId,
    isCurrent,
    posted: [],
    isAttached: true,
    head: 0,
    state: undefined,
  })
  const text = sseOf([...events.start(), ...events.end()])
  return new Response(text, { headers: eventStreamHeaders })
}
