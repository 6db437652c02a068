export const dynamic = 'force-dynamic'

/** Starts a conversation. */
export function GET(): Response {
  return new Response(null, { status: 307, headers: { location: `/chat/${crypto.randomUUID()}` } })
}
