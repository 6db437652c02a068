import { agent, detectModel, tool } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { z } from 'zod'

const lookupOrder = tool({
  name: 'lookup_order',
  description: 'Find an order by its id',
  input: z.object({ id: z.string() }),
  repeat: 'safe',
  run: ({ id }) => ({ id, status: 'shipped' }),
})

const cancelOrder = tool({
  name: 'cancel_order',
  description: 'Cancel an order',
  input: z.object({ id: z.string() }),
  approve: true,
  run: ({ id }) => ({ id, status: 'canceled' }),
})

/** Answers if there is no key in the environment. */
const script = scriptedModel(
  ({ messages }) => {
    const last = messages.at(-1)
    const input = { id: 'ORD-42' }
    if (last?.role === 'tool') return last.name === 'cancel_order' ? 'Done.' : 'ORD-42 has shipped.'
    return JSON.stringify(last).includes('ancel')
      ? [{ call: 'cancel_order', input }]
      : [{ text: 'Let me look. ' }, { call: 'lookup_order', input }]
  },
  { paceMs: 50 },
)

const { model = script } = await detectModel()
const system = 'You help with orders.'

/** An approval needs a thread to wait in, so only this agent can cancel orders. */
export const support = agent({ model, system, tools: [lookupOrder, cancelOrder] })

export const lookup = agent({ model, system, tools: [lookupOrder] })
