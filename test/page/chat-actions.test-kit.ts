import { agent, tool } from 'millrace'
import { z } from 'zod'
import { openDesk } from './desk.ts'

/** A server whose refunds need approval. `paid` records the refunds. */
export async function refundDesk(id = 'ORD-42') {
  const paid: unknown[] = []
  const refund = tool({
    name: 'refund_order',
    description: 'r',
    input: z.object({ id: z.string(), amount: z.number() }),
    approve: ({ id }) => `Refund ${id}?`,
    run: (input) => {
      paid.push(input)
      return 'refunded'
    },
  })
  const desk = await openDesk({
    script: [[{ call: 'refund_order', input: { id, amount: 100 } }], 'So be it.'],
    agents: (model) => ({ helper: agent({ model, tools: [refund] }) }),
  })
  return { ...desk, paid }
}
