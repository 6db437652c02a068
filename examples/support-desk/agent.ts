import { setTimeout as wait } from 'node:timers/promises'
import { type Agent, agent, type Model, tool } from 'millrace'
import { z } from 'zod'
import { euros, orderBook } from './orders.ts'

const input = z.object({
  id: z
    .string()
    .regex(/^ORD-\d+$/)
    .describe('The order number, such as ORD-42'),
})

/** The tools of the desk, which share one order book. */
function deskTools() {
  const book = orderBook()

  const listOrders = tool({
    name: 'list_orders',
    description: 'Lists all orders of the customer.',
    input: z.object({}),
    repeat: 'safe',
    run: async (_, { signal }) => {
      await wait(120, undefined, { signal })
      return book.list()
    },
  })

  const lookupOrder = tool({
    name: 'lookup_order',
    description: 'Looks up one order: the item, the price and the status.',
    input,
    repeat: 'safe',
    run: async ({ id }, { signal }) => {
      await wait(180, undefined, { signal })
      return book.find(id)
    },
  })

  const trackParcel = tool({
    name: 'track_parcel',
    description: "Asks the carrier where an order's parcel is. Slow: takes about two seconds.",
    input,
    repeat: 'safe',
    // A generator yields progress and returns the result.
    async *run({ id }, { signal }) {
      const parcel = book.parcel(id)
      if (!parcel) throw new Error(`${id} has not been handed to a carrier yet`)
      const { carrier, seen, due } = parcel
      yield `asked ${carrier}`
      for (const place of seen) {
        await wait(2000 / (seen.length + 1), undefined, { signal })
        yield place
      }
      await wait(2000 / (seen.length + 1), undefined, { signal })
      return { id, carrier, place: seen.at(-1), due }
    },
  })

  const refundOrder = tool({
    name: 'refund_order',
    description: 'Refunds the full price of an order. Needs approval.',
    input,
    exclusive: true,
    // Returns the question for the user. An order that cannot be refunded needs no approval: it fails.
    approve: ({ id }) => {
      const order = book.list().find((order) => order.id === id && order.status !== 'refunded')
      return order ? `Refund ${euros(order.total)} for ${id}?` : false
    },
    run: async ({ id }, { signal, progress }) => {
      const { status, total } = book.find(id)
      if (status === 'refunded') throw new Error(`${id} was already refunded`)
      progress('asked the bank')
      await wait(600, undefined, { signal })
      book.refund(id)
      return { id, refunded: total }
    },
  })

  return { listOrders, lookupOrder, trackParcel, refundOrder }
}

/** Two agents that share one order book. */
export function supportDesk(model: Model): { readonly support: Agent; readonly returns: Agent } {
  const { listOrders, lookupOrder, trackParcel, refundOrder } = deskTools()
  return {
    support: agent({
      name: 'support',
      description: 'Finds your orders, tracks parcels and refunds what you do not want.',
      starters: ['Where is ORD-42?', 'What did I order?', 'Refund ORD-43'],
      model,
      system: 'You are the support desk of a small shop. Answer only from what the tools say.',
      tools: [listOrders, lookupOrder, trackParcel, refundOrder],
    }),
    returns: agent({
      name: 'returns',
      description: 'Takes back an order and refunds it.',
      starters: ['I want to send ORD-43 back', 'Refund ORD-41', 'Show me ORD-45'],
      model,
      system: 'You handle returns for a small shop, and nothing else. Look up an order first.',
      tools: [lookupOrder, refundOrder],
    }),
  }
}

/** The same desk for voice. Without refunds, which need a user who can see what to approve. */
export function phoneDesk(model: Model): Agent {
  const { listOrders, lookupOrder, trackParcel } = deskTools()
  return agent({
    name: 'phone',
    description: 'Finds your orders and tracks parcels, on the phone.',
    starters: ['Where is order forty-two?', 'What did I order?', 'When does order forty-five arrive?'],
    model,
    system: [
      'You are the support desk of a small shop, on the phone. Answer only from what the tools say.',
      'Customers say "order forty-two" for ORD-42, and so do you. Be brief, and use no lists and no Markdown.',
    ].join(' '),
    tools: [listOrders, lookupOrder, trackParcel],
  })
}
