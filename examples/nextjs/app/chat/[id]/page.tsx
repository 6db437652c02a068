import type { UIMessage } from 'ai'
import { server } from '../../../lib/server.ts'
import { Chat } from '../../chat.tsx'

/** A stored conversation. Reload the page while an answer streams: it continues. */
export default async function Page({ params }: { readonly params: Promise<{ readonly id: string }> }) {
  const { id } = await params
  // With `auth`, pass the headers of the request on.
  const response = await server.fetch(new Request(`http://localhost/api/chat/${id}/messages`))
  const stored: UIMessage[] = await response.json()
  return <Chat api="/api/chat" id={id} stored={stored} />
}
