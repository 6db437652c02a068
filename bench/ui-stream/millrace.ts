import { agent, readUIMessages } from 'millrace'
import { openaiChat } from 'millrace/openai'
import { aiSdkUi, serve } from 'millrace/server'

const agentFor = (baseURL: string) =>
  agent({ model: openaiChat('gpt-4.1-mini', { baseURL, apiKey: 'none' }), retry: { attempts: 1 } })

export function respond(baseURL: string): (request: Request) => Promise<Response> {
  const chat = agentFor(baseURL)
  return async (request) => {
    const { messages } = readUIMessages(await request.json())
    return chat.stream(messages, { signal: request.signal }).toUIMessageResponse()
  }
}

/** All answers are for one caller, so limits per caller must not apply. */
const most = 2 ** 40

export async function served(baseURL: string): Promise<string> {
  const app = serve({
    agents: { chat: agentFor(baseURL) },
    protocols: [aiSdkUi()],
    exchanges: false,
    limits: { streams: most, requestsPerSecond: most, requestsAtOnce: most, bufferBytes: most },
    quotas: { runs: most, waiting: most, storedBytes: most, bytesPerMinute: most, tokensPerMinute: most },
  })
  return (await app.listen()).url
}
