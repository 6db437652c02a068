import { app } from '../../../lib/agent.ts'

// SQLite and long streams need the Node.js runtime, and nothing here may be cached.
export const runtime = 'nodejs'
export const dynamic = 'force-dynamic'

/** The routes of Millrace, below /api. */
function handle(request: Request): Promise<Response> {
  const url = new URL(request.url)
  url.pathname = url.pathname.replace(/^\/api/, '')
  return app.fetch(new Request(url, request))
}

export { handle as DELETE, handle as GET, handle as POST }
