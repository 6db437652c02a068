import { fileURLToPath } from 'node:url'
import { agent, detectModel, tool } from 'millrace'
import { serve } from 'millrace/server'
import { sqliteStore } from 'millrace/sqlite'
import { scriptedModel } from 'millrace/testing'
import { createServer } from 'vite'
import { z } from 'zod'

const lookupOrder = tool({
  name: 'lookup_order',
  description: 'Find an order by its id',
  input: z.object({ id: z.string() }),
  run: ({ id }) => ({ id, status: 'shipped', euros: 120 }),
})

const refundOrder = tool({
  name: 'refund_order',
  description: 'Pay an order back',
  input: z.object({ id: z.string() }),
  approve: ({ id }) => `Refund ${id}?`,
  run: ({ id }) => `${id} is refunded`,
})

/** Has no `run`: the page runs it. */
const localTime = tool({
  name: 'local_time',
  description: "The user's local time and time zone",
  input: z.object({}),
})

/** Answers without a key: calls the tool that fits the words of the user. */
const script = scriptedModel(
  ({ messages }) => {
    const last = messages.at(-1)
    if (last?.role === 'tool') return last.isError ? 'Then I leave it as it is.' : 'That is done.'
    const said = JSON.stringify(last?.content)
    if (said.includes('time')) return [{ text: 'Let me ask your browser. ' }, { call: 'local_time' }]
    const call = said.includes('money') ? 'refund_order' : 'lookup_order'
    return [{ text: 'One moment. ' }, { call, input: { id: 'ORD-42' } }]
  },
  { paceMs: 15 },
)

const store = sqliteStore(process.env.DATA ?? 'react-chat.db')
const app = serve({
  agents: {
    support: agent({
      model: (await detectModel()).model ?? script,
      tools: [lookupOrder, refundOrder, localTime],
    }),
  },
  store,
  page: false,
})
const { url } = await app.listen()

// In production, build the page with `vite build` and serve both behind one name.
const vite = await createServer({
  root: fileURLToPath(new URL('.', import.meta.url)),
  server: {
    port: Number(process.env.PORT ?? 5173),
    proxy: { '/api': { target: url, ws: true, rewrite: (path) => path.replace(/^\/api/, '') } },
  },
})
await vite.listen()
console.log(vite.resolvedUrls?.local[0])

async function shutDown() {
  await vite.close()
  await app.close()
  await store.close()
  process.exit()
}
process.once('SIGINT', shutDown)
process.once('SIGTERM', shutDown)
