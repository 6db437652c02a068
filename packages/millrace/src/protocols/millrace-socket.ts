import { attachSocket, closeCodes } from './attach-socket.ts'
import { choiceField, positionField } from './fields.ts'
import { checkCursor, noThread } from './http-error.ts'
import type { Protocol, Route, SocketConnection } from './protocol.ts'
import type { Voice } from './voice.ts'

const subprotocols = ['millrace.v1']

const query = {
  after: positionField({
    description:
      'What comes after this number, or after now. If absent: with stream=false after now, otherwise nothing before the client asks for it.',
  }),
  stream: choiceField('true', 'false'),
}

/** Our own frames over a WebSocket, both ways: see `docs/PROTOCOL.md`. */
export function millraceSocket({ voice }: { readonly voice: Voice | undefined }): Protocol {
  return {
    name: 'millrace-socket',
    mount({ limits, heartbeatMs, stuckMs, onError }) {
      const route: Route = {
        method: 'GET',
        path: '/threads/:id/socket',
        name: 'openSocket',
        summary: 'The same over a WebSocket, both ways',
        query,
        answers: { 101: { description: 'Frames of JSON from here on' } },
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
                onError,
                async authorize() {
                  caller.rateLimit()
                  if (await caller.canSee(await thread.info())) return
                  connection.close(closeCodes.policy, 'this thread is not yours to see any more')
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
