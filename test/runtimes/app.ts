import { agent, readUIMessages, tool } from 'millrace'
import { client } from 'millrace/client'
import { openai } from 'millrace/openai'
import { aiSdkUi, serve } from 'millrace/server'

// The same on every runtime.

const add = tool({
  name: 'add',
  description: 'Adds two numbers',
  input: {
    jsonSchema: {
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number' } },
      required: ['a', 'b'],
    },
  },
  run: (input) => Number(input.a) + Number(input.b),
})

function calculator(provider: string) {
  return agent({ model: openai('gpt-5', { baseURL: provider, apiKey: 'any' }), tools: [add] })
}

/** Answers without a server of ours: a run for each request. */
export async function handle(request: Request, provider: string): Promise<Response | undefined> {
  const { pathname, searchParams } = new URL(request.url)
  switch (pathname) {
    case '/run':
      return calculator(provider)
        .stream(await request.text())
        .toResponse()
    case '/chat':
      return calculator(provider)
        .stream(readUIMessages(await request.json()).messages)
        .toUIMessageResponse()
    case '/ask':
      return new Response(await ask(searchParams))
    default:
      return undefined
  }
}

/** Asks another server, with the client. */
async function ask(about: URLSearchParams): Promise<string> {
  const transport = about.get('transport') as 'sse' | 'websocket'
  const thread = await client(about.get('server') ?? '', { transport }).create()
  const seq = await thread.send('Hello?')
  let text = ''
  for await (const { event } of thread.follow({ until: seq })) if (event.type === 'text') text += event.text
  return text
}

/** Answers with threads in memory, which live as long as the server. */
export function threads(provider: string) {
  return serve({ agents: { calculator: calculator(provider) }, auth: false, protocols: [aiSdkUi()] })
}
