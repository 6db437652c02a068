import type { ModelApi, ModelProtocolOptions, Place } from '../model-api/index.ts'
import { bodyBytes, modelApi, placeId, readModelOptions, retryKeyOf } from '../model-api/index.ts'
import { modelRoutes } from '../openai/models.ts'
import type { Caller, Protocol, RouteContext } from '../protocol.ts'
import { estimateTokens } from './count-tokens.ts'
import { errorFrame, errorResponse, requestId, stopped } from './errors.ts'
import { messageBuilder } from './message-builder.ts'
import { readMessageRequest } from './message-request.ts'
import { continuedMessage, unknownMessage } from './message-threads.ts'
import { messageWriter } from './message-writer.ts'

/** The SDKs skip it. Claude Code counts it as a sign of life. */
const ping = 'event: ping\ndata: {"type":"ping"}\n\n'

/** The agents as models of Anthropic's API, for its SDKs, Claude Code and other clients of it. */
export function anthropicApi(options: ModelProtocolOptions = {}): Protocol {
  const { path, ...more } = readModelOptions(options, 'anthropicApi')
  return {
    name: `anthropic ${path}`,
    mount(host) {
      const api = modelApi(host, more)
      return {
        routes: [
          { method: 'POST', path: `${path}/messages`, bodyBytes, handle: (context) => answer(api, context) },
          {
            method: 'POST',
            path: `${path}/messages/count_tokens`,
            bodyBytes,
            async handle({ request, caller, readJson }) {
              const asked = readMessageRequest(await readJson())
              api.agentOf(asked.model)
              const fields = isBetaOf(request) ? { context_management: null } : {}
              const count = { input_tokens: estimateTokens(asked), ...fields }
              return Response.json(count, { headers: headersOf(caller, requestId()) })
            },
          },
          ...modelRoutes({
            path,
            agents: host.agents,
            agentOf: api.agentOf,
            headers: ({ caller }) => headersOf(caller, requestId()),
          }),
        ],
        prefixes: [`${path}/messages`, `${path}/models`],
        error: errorResponse,
        close: async () => api.close(),
      }
    },
  }
}

async function answer(api: ModelApi, context: RouteContext): Promise<Response> {
  const { request, caller, readJson, openStream } = context
  const asked = readMessageRequest(await readJson())
  const { model, messages, isStream, previousMessageId } = asked
  const agent = api.agentOf(model)
  // The slot first: a request that is rejected for lack of one must have no effect.
  const slot = openStream()
  const continued =
    previousMessageId === undefined
      ? { request: asked.request, threadName: request.headers.get('x-thread-id') ?? undefined }
      : await continuedMessage(api, caller, { ...asked, previousMessageId })
  if (!continued) return unknownMessage(previousMessageId ?? '')
  const place = await api.send(caller, { agent, messages, retryKey: retryKeyOf(request), ...continued })
  const id = requestId()
  const headers = headersOf(caller, id, place)
  const options = { id: placeId('msg', place), model: String(model), isBeta: isBetaOf(request) }
  if (isStream)
    return api.stream({ slot, signal: context.signal }, place, {
      writer: messageWriter({ ...options, requestId: id, isEager: (name) => asked.eagerTools.has(name) }),
      headers,
      heartbeat: ping,
      fail: (error) => errorFrame(error, id),
    })
  const writer = messageBuilder(options)
  await api.complete(context, place, { writer })
  if (writer.outcome === 'canceled') throw stopped()
  return Response.json(writer.message(), { headers })
}

/** Older SDKs and Claude Code say so in the address, newer ones only name the features they use. */
function isBetaOf({ url, headers }: Request): boolean {
  return new URL(url).searchParams.get('beta') === 'true' || headers.has('anthropic-beta')
}

function headersOf({ requests }: Caller, id: string, place?: Place): Record<string, string> {
  const { limit, remaining, resetMs } = requests
  return {
    'request-id': id,
    'anthropic-ratelimit-requests-limit': String(limit),
    'anthropic-ratelimit-requests-remaining': String(Math.floor(remaining)),
    'anthropic-ratelimit-requests-reset': new Date(Date.now() + resetMs).toISOString(),
    ...(place && { 'x-thread-id': place.thread.id }),
  }
}
