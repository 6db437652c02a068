import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { answer, configOf, say, usage } from '../harness/answer.ts'
import { deliver, listen, type Piece } from '../server/serve.ts'
import { type AnswerInput, answers, homeOf, readTurn } from './conversation.ts'

// A Chat Completions provider in its own process. Each word is the time at which it was written.
// Sends the name of a thread to the parent process when it has finished an answer on the topic
// `talk`. Each of several servers has its number in the path: `/2/v1/chat/completions`.

interface ProviderConfig extends AnswerInput {
  readonly servers?: number
}

const { servers = 1, ...input } = configOf<ProviderConfig>()
const answerFor = answers(input)
/** How many words each thread was sent. */
const sent = new Map<string, number>()
let total = 0
/** How many requests came, and how many of them from the server that was sent the message. */
const requests = { all: 0, home: 0 }

async function respond(request: IncomingMessage, response: ServerResponse) {
  const turn = readTurn(await text(request))
  const { thread } = turn
  requests.all++
  if (servers > 1 && request.url?.startsWith(`/${homeOf(thread, servers)}/`)) requests.home++
  const { pieces, isLast } = answerFor(turn)
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
  await deliver(response, counted(thread, pieces))
  if (isLast && turn.topic === 'talk') say(thread)
}

function* counted(thread: string, pieces: readonly Piece[]): Generator<Piece> {
  for (const piece of pieces) {
    yield piece
    total += piece.stamps.length
    sent.set(thread, (sent.get(thread) ?? 0) + piece.stamps.length)
  }
}

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  respond(request, response).catch((error: Error) => {
    process.stderr.write(`provider: ${error.message}\n`)
    if (response.headersSent) response.destroy()
    else response.writeHead(400).end(JSON.stringify({ error: { message: error.message } }))
  })
})

const asked = {
  open: () => listen(server),
  /** Words sent to all threads so far. */
  total: () => total,
  requests: () => requests,
  /** Words sent to each thread. */
  sent: () => Object.fromEntries(sent),
  usage: usage(),
}
export type ProviderAnswers = typeof asked
answer(asked)
