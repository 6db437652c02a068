import type {
  JsonObject,
  Message,
  Model,
  ModelEvent,
  ModelRequest,
  ModelSettings,
} from '../protocol/index.ts'
import { anthropic } from './anthropic.ts'
import { openai, openaiChat } from './openai.ts'
import { recordingFetch } from './openai-chat/provider.test-kit.ts'

type Fetch = ReturnType<typeof recordingFetch>['fetch']
type Options = { readonly baseURL?: string; readonly name?: string }

const apiKey = 'k'

const makers = {
  'Chat Completions': (fetch, { name = 'gpt-4.1', ...rest }) => openaiChat(name, { apiKey, fetch, ...rest }),
  Responses: (fetch, { name = 'gpt-5.5', ...rest }) => openai(name, { apiKey, fetch, ...rest }),
  Messages: (fetch, { name = 'claude-sonnet-4-5', ...rest }) => anthropic(name, { apiKey, fetch, ...rest }),
} satisfies Record<string, (fetch: Fetch, options: Options) => Model>

type Wire = keyof typeof makers
export const wireNames = Object.keys(makers) as Wire[]

/** A model for an API, without a socket: its requests go to `fetch`. */
export const openWire = (wire: Wire, fetch: Fetch, options: Options = {}): Model =>
  makers[wire](fetch, options)

export const user: Message = { role: 'user', content: 'x' }
export const del = { name: 'del', description: 'Deletes' }

/** The request body that a model sends. */
export async function sentBody(
  wire: Wire,
  request: Partial<ModelRequest> & { readonly settings?: ModelSettings },
  options: Options = {},
): Promise<JsonObject> {
  const { fetch, requests } = recordingFetch()
  await read(openWire(wire, fetch, options), { messages: [user], tools: [], settings: {}, ...request })
  return requests[0]?.body ?? {}
}

/** The events that a model reads from these frames, and the error that ended them. */
export async function eventsFrom(wire: Wire, ...frames: readonly unknown[]) {
  const { fetch } = recordingFetch(frames)
  return read(openWire(wire, fetch), {
    messages: [user],
    tools: [{ ...del, inputSchema: {} }],
    settings: {},
  })
}

/** All events of one request, and the error that ended them. */
export async function read(model: Model, request: ModelRequest) {
  const events: ModelEvent[] = []
  try {
    for await (const event of model.stream(request, { signal: new AbortController().signal }))
      events.push(event)
  } catch (error) {
    return { events, error }
  }
  return { events, error: undefined }
}

export const callsIn = (events: readonly ModelEvent[]) => events.filter(({ type }) => type === 'tool-call')
export const textIn = (events: readonly ModelEvent[]) =>
  events.map((event) => (event.type === 'text' ? event.text : '')).join('')
