import { agent, detectModel, tool } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { z } from 'zod'

const lookupOrder = tool({
  name: 'lookup_order',
  description: 'Find an order by its id',
  input: z.object({ id: z.string() }),
  repeat: 'safe', // another worker may call it again if this one dies
  run: ({ id }) => ({ id, status: 'shipped' }),
})

const script = scriptedModel(({ messages }) =>
  messages.at(-1)?.role === 'tool'
    ? 'ORD-42 has shipped.'
    : [{ text: 'Let me look. ' }, { call: 'lookup_order', input: { id: 'ORD-42' } }],
)

const { model = script } = await detectModel()

export const support = agent({ model, system: 'You help with orders.', tools: [lookupOrder] })
