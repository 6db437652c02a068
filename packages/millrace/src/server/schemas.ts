import type { JsonObject } from '../protocol/index.ts'

// What the answers look like, for `openapi.json`. A test holds the answers against it.

const text: JsonObject = { type: 'string' }
const count: JsonObject = { type: 'integer', minimum: 0 }
const time: JsonObject = { type: 'integer', description: 'Milliseconds since 1970.' }
const anyObject: JsonObject = { type: 'object' }
const status: JsonObject = { type: 'string', enum: ['idle', 'queued', 'running', 'waiting'] }
const outcome: JsonObject = {
  type: 'string',
  enum: ['completed', 'max-rounds', 'truncated', 'suspended', 'cancelled', 'failed'],
}

function object(properties: JsonObject, optional: JsonObject = {}, more: JsonObject = {}): JsonObject {
  return {
    type: 'object',
    properties: { ...properties, ...optional },
    required: Object.keys(properties),
    additionalProperties: false,
    ...more,
  }
}

function listOf(items: JsonObject): JsonObject {
  return { type: 'array', items }
}

const threadInfo = object(
  { id: text, agent: text, createdAt: time, updatedAt: time, head: count, status },
  {
    title: { type: 'string', description: 'The beginning of the first thing that was said.' },
    user: text,
    metadata: anyObject,
    forkedFrom: object({ id: text, seq: count }),
  },
)

const userMessage = object({
  role: { const: 'user' },
  content: { anyOf: [text, listOf({ type: 'object', properties: { type: text }, required: ['type'] })] },
})

const error = object({ error: object({ code: text, message: text }, { id: text, retryAfterMs: count }) })

const view: JsonObject = {
  ...threadInfo,
  properties: {
    ...(threadInfo.properties as JsonObject),
    messages: listOf({
      type: 'object',
      properties: { role: { enum: ['system', 'user', 'assistant', 'tool'] } },
      required: ['role', 'content'],
    }),
    earlier: object({
      messages: { ...count, description: 'So many come before these: ask with before= this number.' },
    }),
    approvals: listOf({ type: 'object', required: ['type', 'callId', 'name', 'input'] }),
    queued: listOf(object({ seq: count, mode: { enum: ['queue', 'steer', 'interrupt'] } })),
    usage: { type: 'object', additionalProperties: { type: 'number' } },
    run: object({ id: text, rounds: count }, { outcome, error: anyObject }),
  },
  required: [...(threadInfo.required as string[]), 'messages', 'approvals', 'queued', 'usage'],
}

const entry = object(
  {
    seq: { type: 'integer', minimum: 1 },
    at: { type: 'number', description: 'Milliseconds since 1970.' },
    event: { type: 'object', properties: { type: text }, required: ['type'] },
  },
  {
    from: { type: 'integer', minimum: 1, description: 'Where deltas were joined: the number of the first.' },
  },
)

const headers: JsonObject = { type: 'object', additionalProperties: text }

const wireExchange = object(
  { url: text, headers, body: text },
  { status: count, answerHeaders: headers, answer: text, cut: { const: true } },
)

const exchange = object(
  {
    runId: text,
    round: count,
    attempt: { type: 'integer', minimum: 1 },
    model: text,
    provider: text,
    at: time,
    tools: listOf(text),
    wire: listOf(wireExchange),
  },
  {
    ms: { type: 'number', description: 'Absent while it goes on.' },
    request: { type: 'object', description: 'Where nothing went over HTTP: what the model was asked.' },
    cut: { const: true },
    error: anyObject,
  },
)

const probe = {
  storeMs: { ...count, description: 'How long the store took to answer.' },
  loopDelayMs: {
    ...count,
    description: 'How long a new request waited for the event loop in the last seconds, on average.',
  },
}

export const schemas = {
  Error: error,
  ThreadInfo: threadInfo,
  ThreadView: view,
  ThreadPage: object(
    { threads: listOf({ $ref: '#/components/schemas/ThreadInfo' }) },
    { next: { type: 'string', description: 'The cursor of the next page.' } },
  ),
  UserMessage: userMessage,
  Entry: entry,
  EntryPage: object(
    { entries: listOf({ $ref: '#/components/schemas/Entry' }), head: count },
    { next: { ...count, description: 'There is more: ask for what comes after this number.' } },
  ),
  Exchange: exchange,
  ExchangePage: object(
    { exchanges: listOf({ $ref: '#/components/schemas/Exchange' }) },
    { next: { ...count, description: 'There is more: ask for the rounds after this one.' } },
  ),
  Written: object({
    seq: { type: 'integer', minimum: 0, description: 'The number of what was written.' },
  }),
  Agents: object({
    agents: listOf(
      object(
        { name: text },
        {
          notices: { ...listOf(text), description: 'What to know of its tools, for those who may inspect.' },
        },
      ),
    ),
  }),
  Usage: object({
    usage: {
      type: 'object',
      additionalProperties: object({ used: { type: 'number' }, limit: { type: 'number' } }),
    },
  }),
  VoiceAbilities: object({ speak: { type: 'boolean' }, listen: { type: 'boolean' } }),
  Health: object({ status: { const: 'ok' }, ready: { type: 'boolean' }, problems: listOf(text) }, probe),
  Readiness: object({ status: { enum: ['ready', 'unready'] }, problems: listOf(text) }, probe),
} satisfies Record<string, JsonObject>
