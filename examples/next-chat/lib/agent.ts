import { agent, detectModel, tool } from 'millrace'
import { serve } from 'millrace/server'
import { sqliteStore } from 'millrace/sqlite'
import { scriptedModel } from 'millrace/testing'
import { z } from 'zod'

const lookupOrder = tool({
  name: 'lookup_order',
  description: 'Find an order by its id',
  input: z.object({ id: z.string() }),
  run: ({ id }) => ({ id, status: 'shipped' }),
})

const script = scriptedModel(({ messages }) =>
  messages.at(-1)?.role === 'tool'
    ? 'ORD-42 has shipped.'
    : [{ text: 'Let me look. ' }, { call: 'lookup_order', input: { id: 'ORD-42' } }],
)

async function start() {
  const { model = script } = await detectModel()
  return serve({
    agents: { support: agent({ model, system: 'You help with orders.', tools: [lookupOrder] }) },
    store: sqliteStore(process.env.DATA ?? 'next-chat.db'),
    page: false,
    auth: false, // your session check: see docs/production/authentication.md
  })
}

// Next.js loads this module again after each change in development. One app must stay.
const kept = globalThis as { millraceApp?: ReturnType<typeof start> }
kept.millraceApp ??= start()

export const app = await kept.millraceApp
