import { withStatus } from '../http-error.ts'
import type { ModelApi } from '../model-api/index.ts'
import { placeId, retryKeyOf } from '../model-api/index.ts'
import type { Route } from '../protocol.ts'
import { readChatRequest } from './chat-request.ts'
import { chatChunks, chatCompletion } from './chat-writer.ts'
import { errorFrame, namingField, openaiError } from './errors.ts'
import { answerHeaders } from './headers.ts'

export function chatRoutes(
  api: ModelApi,
  { path, bodyBytes }: { readonly path: string; readonly bodyBytes: number },
): Route[] {
  return [
    {
      method: 'POST',
      path: `${path}/chat/completions`,
      bodyBytes,
      async handle(context) {
        const { caller, request } = context
        const headers = answerHeaders(context)
        const threadName = request.headers.get('x-thread-id') ?? undefined
        const { model, messages, isStream, withUsage, ...chat } = readChatRequest(await context.readJson(), {
          isPartial: threadName !== undefined,
        })
        const agent = api.agentOf(model)
        // The slot first: a request that is rejected for lack of one must have no effect.
        const slot = context.openStream()
        const sent = api.send(caller, {
          agent,
          messages,
          request: chat.request,
          threadName,
          retryKey: retryKeyOf(request),
        })
        const place = await sent.catch((error: unknown) => {
          throw namingField(error, { input: 'messages', output: 'response_format' })
        })
        const fields = { id: placeId('chatcmpl', place), model: String(model) }
        if (isStream)
          return api.stream({ slot, signal: context.signal }, place, {
            writer: chatChunks({ ...fields, withUsage }),
            headers: headers(place),
            heartbeat: ': \n\n',
            fail: (error) => errorFrame(openaiError(withStatus(undefined, error))),
          })
        const writer = chatCompletion({ ...fields, isJson: chat.request.output !== undefined })
        await api.complete(context, place, { writer })
        return Response.json(writer.result(), { headers: headers(place) })
      },
    },
  ]
}
