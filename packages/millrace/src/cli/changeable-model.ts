import type { Model } from '../protocol/index.ts'

/** A model that another one can take the place of, from the next round on. */
export interface ChangeableModel extends Model {
  use(next: Model): void
}

export function changeableModel(first: Model): ChangeableModel {
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
    get background() {
      return current.background
    },
    stream: (request, options) => current.stream(request, options),
    use(next) {
      current = next
    },
  }
}
