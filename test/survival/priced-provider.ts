import type { ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** One request, as the provider bills it. */
interface Billed {
  readonly thread: string
  readonly inputTokens: number
  outputTokens: number
  /** The client has got something. */
  started: boolean
  /** The client was still there at the end. */
  completed: boolean
}

/** How many tool calls each message takes before it is answered. */
const callsPerMessage = 2

/** A provider with the wire of OpenAI that answers slowly and keeps a list of what it has served. */
export async function pricedProvider() {
  const billed: Billed[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    await answer(JSON.parse(body), response)
  })

  async function answer({ messages, tools }: ChatRequest, response: ServerResponse) {
    const [thread = ''] = /\bt\d+\b/.exec(JSON.stringify(messages)) ?? []
    const inputTokens = Math.ceil((JSON.stringify(messages).length + JSON.stringify(tools).length) / 4)
    const bill: Billed = { thread, inputTokens, outputTokens: 0, started: false, completed: false }
    billed.push(bill)
    let isGone = false
    response.on('close', () => {
      isGone = !response.writableFinished
    })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const send = (data: object | string) =>
      response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`)
    const chunk = (delta: object, finish: string | null = null) =>
      send({ id: 'chat', choices: [{ index: 0, delta, finish_reason: finish }] })
    for (let word = 0; word < 8; word++) {
      await delay(Math.random() * 10)
      if (isGone) return
      bill.started = true
      bill.outputTokens += 2
      chunk({ content: `word${word} ` })
    }
    const calls = messages.filter(({ role }) => role === 'tool').length
    if (calls < callsPerMessage) {
      bill.outputTokens += 5
      const call = {
        index: 0,
        id: `call_${calls}`,
        type: 'function',
        function: { name: 'look', arguments: '{}' },
      }
      chunk({ tool_calls: [call] }, 'tool_calls')
    } else chunk({}, 'stop')
    const { outputTokens } = bill
    send({ id: 'chat', choices: [], usage: { prompt_tokens: inputTokens, completion_tokens: outputTokens } })
    send('[DONE]')
    response.end(() => {
      bill.completed = true
    })
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    billed: billed as readonly Billed[],
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

interface ChatRequest {
  readonly messages: readonly { readonly role: string }[]
  readonly tools?: readonly unknown[]
}
