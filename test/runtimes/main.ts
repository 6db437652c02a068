import { handle, threads } from './app.ts'

// What Bun and Deno serve by themselves, and Node with an adapter.

const provider = process.env.PROVIDER ?? ''
const app = threads(provider)

export default {
  port: 0,
  hostname: '127.0.0.1',
  fetch: async (request: Request) => (await handle(request, provider)) ?? app.fetch(request),
}
