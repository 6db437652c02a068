import { isMillraceError, readUIMessages } from 'millrace'
import { lookup } from '../../../lib/agent.ts'

/** Without a server: one run for each request, and nothing is stored. */
export async function POST(request: Request): Promise<Response> {
  try {
    const { messages } = readUIMessages(await request.json())
    return lookup.stream(messages, { signal: request.signal }).toUIMessageResponse()
  } catch (error) {
    // `useChat` shows the body of an error response.
    if (isMillraceError(error) && error.code === 'invalid_input')
      return new Response(error.message, { status: 400 })
    throw error
  }
}
