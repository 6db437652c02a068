import { setTimeout as wait } from 'node:timers/promises'
import { type Agent, agent, type Model, tool } from 'millrace'
import { z } from 'zod'
import { euros, orderBook } from './orders.ts'

const input = z.object({
  id: z
    .string()
    .regex(/^ORD-\d+$/)
    .describe('The number of the order, such as ORD-42'),
})

/** What the desk can do, over one order book. */
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
    description: 'Looks up one order: what it is, what it cost and how far it is.',
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
    // What a generator yields is progress, what it returns is the result.
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
    description: 'Pays the whole price of an order back. A person is asked first.',
    input,
    exclusive: true,
    // The reason is the question that the person is asked. What cannot be refunded needs no asking: it fails by itself.
    approve: ({ id }) => {
      const order = book.list().find((order) => order.id === id && order.status !== 'refunded')
      return order ? `Refund ${euros(order.total)} for ${id}?` : false
    },
    run: async ({ id }, { signal, progress }) => {
      const { status, total } = book.find(id)
      if (status === 'refunded') throw new Error(`${id} has been refunded before`)
      progress('asked the bank')
      await wait(600, undefined, { signal })
      book.refund(id)
      return { id, refunded: total }
    },
  })

  return { listOrders, lookupOrder, trackParcel, refundOrder }
}

/** Two agents over one order book. Any model will do. */
export function supportDesk(model: Model): { readonly support: Agent; readonly returns: Agent } {
  const { listOrders, lookupOrder, trackParcel, refundOrder } = deskTools()
  return {
    support: agent({
      name: 'support',
      model,
      system: 'You are the support desk of a small shop. Answer only from what the tools say.',
      tools: [listOrders, lookupOrder, trackParcel, refundOrder],
    }),
    returns: agent({
      name: 'returns',
      model,
      system:
        'You take back what customers of a small shop do not want, and nothing else. Look at an order first.',
      tools: [lookupOrder, refundOrder],
    }),
  }
}

/** The same desk, spoken with. It pays nothing back: a refund is for a person who can see what is asked. */
export function phoneDesk(model: Model): Agent {
  const { listOrders, lookupOrder, trackParcel } = deskTools()
  return agent({
    name: 'phone',
    model,
    system: [
      'You are the support desk of a small shop, on the phone. Answer only from what the tools say.',
      'Customers say "order forty-two" for ORD-42, and so do you. Be brief, and use no lists and no Markdown.',
    ].join(' '),
    tools: [listOrders, lookupOrder, trackParcel],
  })
}
