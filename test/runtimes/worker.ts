import { handle, threads } from './app.ts'

interface Environment {
  readonly PROVIDER: string
  readonly THREADS: { getByName(name: string): { fetch(request: Request): Promise<Response> } }
}

/**
 * A Durable Object: in workerd, what one request has opened cannot be used by the next one, except
 * inside of such an object.
 */
export class Threads {
  readonly #app: ReturnType<typeof threads>

  constructor(_: unknown, { PROVIDER }: Environment) {
    this.#app = threads(PROVIDER)
  }

  fetch(request: Request): Promise<Response> {
    return this.#app.fetch(request)
  }
}

export default {
  fetch: async (request: Request, { PROVIDER, THREADS }: Environment) =>
    (await handle(request, PROVIDER)) ?? THREADS.getByName('all').fetch(request),
}
