import type { Wire } from '../contract.ts'
import { answer } from '../harness/answer.ts'
import { during } from '../harness/measure.ts'
import { scenarioOf } from '../server/scenario.ts'
import { textOf } from '../workloads/received.ts'
import type { Opened } from './server.ts'
import { type Size, type WorkName, workloadOf } from './ways.ts'

// A client of the gateway, in its own process.

interface Asked {
  readonly opened: Opened
  readonly client: Wire
  readonly work: WorkName
  readonly size: Size
}

interface Format {
  readonly path: string
  body(question: string): object
  /** The text of an event. */
  text(event: Event): string | undefined
  isEnd(event: Event | undefined, line: string): boolean
}

interface Event {
  readonly type?: string
  readonly delta?: string | { readonly text?: string }
  readonly choices?: readonly { readonly delta: { readonly content?: string | null } }[]
}

const formats: Readonly<Record<Wire, Format>> = {
  chat: {
    path: '/v1/chat/completions',
    body: (content) => ({ messages: [{ role: 'user', content }] }),
    text: ({ choices }) => choices?.[0]?.delta.content ?? undefined,
    isEnd: (_, line) => line === '[DONE]',
  },
  responses: {
    path: '/v1/responses',
    body: (input) => ({ input }),
    text: ({ type, delta }) =>
      type === 'response.output_text.delta' && typeof delta === 'string' ? delta : undefined,
    isEnd: (event) => event?.type === 'response.completed',
  },
  messages: {
    path: '/v1/messages',
    body: (content) => ({ max_tokens: 50_000, messages: [{ role: 'user', content }] }),
    text: ({ type, delta }) =>
      type === 'content_block_delta' && typeof delta === 'object' ? delta.text : undefined,
    isEnd: (event) => event?.type === 'message_stop',
  },
}

let asked = 0

/** The text of one answer. Throws if the answer does not come to its end. */
async function readAnswer({ opened: { url, model, headers }, client }: Asked): Promise<string> {
  const { path, body, text, isEnd } = formats[client]
  const response = await fetch(url + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(client === 'messages'
        ? { 'x-api-key': 'none', 'anthropic-version': '2023-06-01' }
        : { authorization: 'Bearer none' }),
      ...headers,
    },
    // Every conversation is another one, as with real clients.
    body: JSON.stringify({
      model,
      stream: true,
      ...body(`Tell me all about it, for the ${++asked}th time.`),
    }),
  })
  const answer = await response.text()
  if (!response.ok) throw new Error(`${response.status}: ${answer}`)
  const lines = answer.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []))
  const events = lines.flatMap((line): Event[] => (line === '[DONE]' ? [] : [JSON.parse(line)]))
  if (!isEnd(events.at(-1), lines.at(-1) ?? '')) throw new Error(`the stream ends with ${answer.slice(-200)}`)
  return events.map((event) => text(event) ?? '').join('')
}

async function readAnswers(asked: Asked): Promise<void> {
  const { work, size } = asked
  const { scenario, answers } = workloadOf(work)
  const sent = scenarioOf(scenario(size))
  const expected = sent ? textOf(sent) : ''
  const texts = await Promise.all(Array.from({ length: answers(size).atOnce }, () => readAnswer(asked)))
  for (const text of texts) {
    if (text.length !== expected.length)
      throw new Error(`the text has ${text.length} characters, expected ${expected.length}`)
    // The deltas of a paced answer are times, as long as their placeholders.
    if (work !== 'paced' && text !== expected) throw new Error('the text is not the one that was sent')
  }
}

/** Both return how often the answers of the workload were read. */
const questions = {
  warm: (asked: Asked) => during(asked.size.warmMs, () => readAnswers(asked)),
  play: (asked: Asked) => during(asked.size.turnMs, () => readAnswers(asked)),
}
export type ReaderAnswers = typeof questions
answer(questions)
