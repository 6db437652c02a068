import { attachSocket, closeCodes } from './attach-socket.ts'
import { choiceField, positionField } from './fields.ts'
import { checkCursor, noThread } from './http-error.ts'
import type { Protocol, Route, SocketConnection } from './protocol.ts'
import type { Voice } from './voice.ts'

const subprotocols = ['millrace.v1']

const query = {
  after: positionField({
    description:
      'Start after this entry, or after the current end of the log (`now`). Without it, nothing is sent until the client sends a resume frame; with stream=false it defaults to `now`.',
  }),
  stream: choiceField('true', 'false'),
}

/** The native protocol over a WebSocket, in both directions: see `docs/reference/protocol.md`. */
export function millraceSocket({ voice }: { readonly voice: Voice | undefined }): Protocol {
  return {
    name: 'millrace-socket',
    mount({ limits, heartbeatMs, stuckMs, clientOptions, onError }) {
      const route: Route = {
        method: 'GET',
        path: '/threads/:id/socket',
        name: 'openSocket',
        summary: 'Follow and control a thread over a WebSocket',
        query,
        responses: { 101: { description: 'The connection switches to WebSocket, with JSON frames' } },
        async connect({ caller, params, query }) {
          const { after, stream } = query as { after?: number | 'now'; stream?: string }
          const { thread, info } = await caller.getThread(params.id as string)
          if (typeof after === 'number') checkCursor(after, info.head)
          return {
            threadId: thread.id,
            subprotocols,
            open(ws, socket) {
              const connection: SocketConnection = attachSocket(ws, {
                socket,
                thread,
                after,
                stream: stream !== 'false',
                heartbeatMs,
                stuckMs,
                framesPerSecond: limits.framesPerSecond,
                voice,
                clientOptions: clientOptions(info.agent, caller),
                onError,
                async authorize() {
                  caller.rateLimit()
                  if (await caller.canSee(await thread.info())) return
                  connection.close(closeCodes.policy, 'you no longer have access to this thread')
                  throw noThread()
                },
              })
              return connection
            },
          }
        },
      }
      return { routes: [route] }
    },
  }
}
