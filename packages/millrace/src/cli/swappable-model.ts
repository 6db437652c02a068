import type { Model } from '../protocol/index.ts'

/** A model that can be replaced by another one, starting with the next round. */
export interface SwappableModel extends Model {
  use(next: Model): void
}

export function swappableModel(first: Model): SwappableModel {
  let current = first
  return {
    get id() {
      return current.id
    },
    get provider() {
      return current.provider
    },
    get address() {
      return current.address
    },
    get capabilities() {
      return current.capabilities
    },
    get price() {
      return current.price
    },
    get simulated() {
      return current.simulated
    },
    get background() {
      return current.background
    },
    stream: (request, options) => current.stream(request, options),
    use(next) {
      current = next
    },
  }
}
