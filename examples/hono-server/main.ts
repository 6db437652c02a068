import { type HttpBindings, serve as listen } from '@hono/node-server'
import { Hono } from 'hono'
import { agent, detectModel, type ToolContext, tool } from 'millrace'
import { serve } from 'millrace/server'
import { sqliteStore } from 'millrace/sqlite'
import { scriptedModel } from 'millrace/testing'
import { z } from 'zod'

/** Your session store. */
const sessions = new Map([['token-of-ada', 'ada']])

const listOrders = tool({
  name: 'list_orders',
  description: 'Lists the orders of the signed-in user',
  input: z.object({}),
  run: (_, { context }: ToolContext<{ user: string }>) => [{ id: 'ORD-42', owner: context.user }],
})

const script = scriptedModel(({ messages }) =>
  messages.at(-1)?.role === 'tool' ? 'You have one order: ORD-42.' : [{ call: 'list_orders', input: {} }],
)

const store = sqliteStore(process.env.DATA ?? 'hono-chat.db')
const agents = serve({
  agents: { support: agent({ model: (await detectModel()).model ?? script, tools: [listOrders] }) },
  store,
  page: false,
  auth: (request) => {
    const user = sessions.get(request.headers.get('authorization')?.slice('Bearer '.length) ?? '')
    return user === undefined ? undefined : { user }
  },
  context: ({ user }) => ({ user: user ?? 'anonymous' }),
})

const app = new Hono<{ Bindings: HttpBindings }>()
app.get('/', (context) => context.text('My app. The agents are below /agents.'))
// Passing the client's address lets the server count failed sign-ins by address.
app.mount('/agents', (request, env) =>
  agents.fetch(request, { remoteAddress: (env as HttpBindings).incoming.socket.remoteAddress }),
)

const server = listen({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) }, ({ port }) => {
  console.log(`http://localhost:${port}/agents`)
})

async function shutDown() {
  server.close()
  await agents.close()
  await store.close()
}
process.once('SIGINT', shutDown)
process.once('SIGTERM', shutDown)
