export interface Order {
  readonly id: string
  readonly item: string
  /** In euros. */
  readonly total: number
  readonly status: 'being packed' | 'on its way' | 'delivered' | 'refunded'
}

export interface Parcel {
  readonly carrier: string
  /** Where it was scanned, most recent last. */
  readonly seen: readonly [string, ...string[]]
  readonly due: string
}

/** The orders of the shop, in memory: a refund lasts until the process ends. */
export interface OrderBook {
  list(): Order[]
  /** Throws if the order does not exist. The model sees the message. */
  find(id: string): Order
  /** Undefined until the order is shipped. */
  parcel(id: string): Parcel | undefined
  refund(id: string): void
}

export function orderBook(): OrderBook {
  const orders = new Map(
    [
      order('ORD-41', 'a ceramic mug', 18, 'delivered'),
      order('ORD-42', 'trail running shoes', 129, 'on its way'),
      order('ORD-43', 'a desk lamp', 49, 'delivered'),
      order('ORD-44', 'a rain jacket', 89.5, 'being packed'),
      order('ORD-45', 'a set of notebooks', 23.9, 'on its way'),
    ].map((order) => [order.id, order]),
  )

  function find(id: string): Order {
    const found = orders.get(id)
    if (!found) throw new Error(`there is no order ${id}`)
    return found
  }

  return {
    list: () => [...orders.values()],
    find,
    parcel: (id) => parcels[find(id).id],
    refund: (id) => void orders.set(id, { ...find(id), status: 'refunded' }),
  }
}

const parcels: Record<string, Parcel> = {
  'ORD-41': { carrier: 'Colibri', seen: ['in the van', 'at your door'], due: 'last Monday' },
  'ORD-42': { carrier: 'Colibri', seen: ['at the port of Marseille', 'at the hub in Lyon'], due: 'Thursday' },
  'ORD-43': { carrier: 'Northwind Post', seen: ['in the van', 'in your letterbox'], due: 'last Friday' },
  'ORD-45': { carrier: 'Northwind Post', seen: ['at the depot in Ghent'], due: 'Friday' },
}

function order(id: string, item: string, total: number, status: Order['status']): Order {
  return { id, item, total, status }
}

export function euros(amount: number): string {
  return `€${amount.toFixed(2)}`
}
