import { server } from '../../../../lib/server.ts'

// SQLite needs the Node.js runtime, and nothing here may be cached.
export const runtime = 'nodejs'
export const dynamic = 'force-dynamic'

/** With a server: conversations are stored, and answers can be resumed. */
function handle(request: Request): Promise<Response> {
  return server.fetch(request)
}

export { handle as GET, handle as POST }
