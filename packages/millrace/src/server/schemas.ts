import type { JsonObject } from '../protocol/index.ts'

// The schemas of responses in `openapi.json`. A test validates real responses against them.

const text: JsonObject = { type: 'string' }
const count: JsonObject = { type: 'integer', minimum: 0 }
const time: JsonObject = { type: 'integer', description: 'Milliseconds since the Unix epoch.' }
const anyObject: JsonObject = { type: 'object' }
const status: JsonObject = { type: 'string', enum: ['idle', 'queued', 'running', 'waiting'] }
const outcome: JsonObject = {
  type: 'string',
  enum: ['completed', 'max-rounds', 'budget', 'truncated', 'suspended', 'canceled', 'failed'],
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
    title: { type: 'string', description: 'The beginning of the first message, or what a user chose.' },
    user: text,
    metadata: anyObject,
    forkedFrom: object({ id: text, seq: count }),
    outcome: { ...outcome, description: 'How the last run ended, if the thread rests.' },
    error: { type: 'string', description: 'The error code of the last run.' },
    knownUsd: { type: 'number', minimum: 0, description: 'The cost, as far as prices are known.' },
    match: object(
      { seq: count, text },
      {},
      { description: 'In a search: the part of a message or an answer that was found.' },
    ),
  },
)

const userMessage = object({
  role: { const: 'user' },
  content: { anyOf: [text, listOf({ type: 'object', properties: { type: text }, required: ['type'] })] },
})

const message: JsonObject = {
  type: 'object',
  properties: { role: { enum: ['system', 'user', 'assistant', 'tool'] } },
  required: ['role', 'content'],
}

const toolSpec = object(
  { name: text, description: text, inputSchema: anyObject },
  { strict: { type: 'boolean' } },
)

const toolChoice: JsonObject = {
  anyOf: [{ type: 'string', enum: ['auto', 'none', 'required'] }, object({ name: text })],
}

const runRequest = object(
  {},
  {
    model: { type: 'string', description: "The model that answers: one of the agent's `models`." },
    tools: {
      ...listOf(toolSpec),
      description: "Tools that the client runs itself. The agent's own tool of the same name wins.",
    },
    system: { type: 'string', description: "Added to the agent's system prompt." },
    settings: { type: 'object', description: "Model settings that override the agent's." },
    toolChoice,
    output: { type: 'object', description: 'The JSON Schema of the answer.' },
    replace: object(
      {},
      {
        system: text,
        tools: { ...listOf(text), description: "The names of the agent's tools that are offered." },
      },
      { description: 'Replaces parts of the agent. Only for users with canInspect.' },
    ),
    metadata: { type: 'object', description: 'Stored with the message. The model does not see it.' },
  },
  {
    description:
      'Holds for the run that answers. The server option `clientOptions` says which fields it accepts.',
  },
)

const agentFields: JsonObject = {
  description: { type: 'string', description: 'What it can do, in a sentence.' },
  starters: { ...listOf(text), description: 'Messages to start a conversation with.' },
  isSimulated: { const: true, description: 'Its answers, token counts and costs are simulated.' },
  notices: { ...listOf(text), description: 'Notices about its tools. Only for users with canInspect.' },
}

const error = object({ error: object({ code: text, message: text }, { id: text, retryAfterMs: count }) })

const usd: JsonObject = { type: 'number', minimum: 0 }

const cost = object(
  { knownUsd: { ...usd, description: 'The part that is known, in US dollars.' } },
  {
    usd: { ...usd, description: 'The total in US dollars. Absent if a part of it is not known.' },
    unknown: { ...count, description: 'How many requests had a model whose price is not known.' },
    estimatedUsd: {
      ...usd,
      description: 'The part that is estimated, since a provider did not report what was used.',
    },
    simulatedUsd: { ...usd, description: 'The part that is simulated: nothing was paid for it.' },
    tools: {
      type: 'object',
      additionalProperties: usd,
      description: 'The part that each tool has cost, with its sub-agents.',
    },
  },
)

const context = object(
  {
    tokens: { ...count, description: 'The length of the conversation after the last round, in tokens.' },
    system: count,
    tools: count,
    history: { ...count, description: 'Messages of users and answers.' },
    results: { ...count, description: 'Results of tools.' },
  },
  {
    limit: { ...count, description: 'How many tokens the model can read, if that is known.' },
    compactAt: { ...count, description: 'Past this length the conversation is compacted.' },
  },
)

const limit = object({
  scope: { enum: ['run', 'thread', 'user', 'agent'], description: 'Those of user and agent are per day.' },
  kind: { enum: ['usd', 'tokens', 'rounds', 'toolCalls', 'ms'] },
  limit: { type: 'number' },
  spent: { type: 'number' },
})

const spendingRow = object(
  {
    usd: { ...usd, description: 'The known part of the cost, with what is estimated and simulated.' },
    estimatedUsd: usd,
    simulatedUsd: usd,
    unknown: { ...count, description: 'How many requests had a model whose price is not known.' },
    runs: count,
    rounds: count,
    toolCalls: count,
    inputTokens: count,
    outputTokens: count,
    cacheReadTokens: count,
    cacheWriteTokens: count,
    ms: { type: 'number', description: 'Working time in milliseconds.' },
  },
  {
    day: { type: 'string', description: 'In UTC.' },
    agent: text,
    user: { type: 'string', description: 'Absent for threads without a user.' },
    model: { type: 'string', description: 'Absent for what tools cost themselves, and for time.' },
    tool: { type: 'string', description: 'The tool that cost it. Absent for the agent itself.' },
  },
)

const view: JsonObject = {
  ...threadInfo,
  properties: {
    ...(threadInfo.properties as JsonObject),
    messages: listOf(message),
    earlier: object({
      messages: {
        ...count,
        description: 'How many earlier messages there are. Pass this number as `before` to get them.',
      },
    }),
    approvals: listOf({ type: 'object', required: ['type', 'callId', 'name', 'input'] }),
    queued: listOf(object({ seq: count, mode: { enum: ['queue', 'steer', 'interrupt'] } })),
    usage: { type: 'object', additionalProperties: { type: 'number' } },
    cost,
    context,
    run: object({ id: text, rounds: count }, { outcome, error: anyObject, limit }),
  },
  required: [...(threadInfo.required as string[]), 'messages', 'approvals', 'queued', 'usage', 'cost'],
}

const entry = object(
  {
    seq: { type: 'integer', minimum: 1 },
    at: { type: 'number', description: 'Milliseconds since the Unix epoch.' },
    event: { type: 'object', properties: { type: text }, required: ['type'] },
  },
  {
    from: {
      type: 'integer',
      minimum: 1,
      description: 'The number of the first delta, if this entry joins several deltas.',
    },
  },
)

const headers: JsonObject = { type: 'object', additionalProperties: text }

const wireExchange = object(
  { url: text, headers, body: text },
  { status: count, responseHeaders: headers, response: text, cut: { const: true } },
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
    ms: {
      type: 'number',
      description: 'The duration in milliseconds. Absent while the call is in progress.',
    },
    request: { type: 'object', description: 'The request to a model that does not use HTTP.' },
    cut: { const: true },
    error: anyObject,
  },
)

const probe = {
  storeMs: { ...count, description: 'How long the store took to answer, in milliseconds.' },
  loopDelayMs: {
    ...count,
    description: 'How long new requests recently waited for the event loop on average, in milliseconds.',
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
  Message: message,
  UserMessage: userMessage,
  RunRequest: runRequest,
  Entry: entry,
  EntryPage: object(
    { entries: listOf({ $ref: '#/components/schemas/Entry' }), head: count },
    { next: { ...count, description: 'Present if there are more entries: pass it as `after` to get them.' } },
  ),
  Exchange: exchange,
  ExchangePage: object(
    { exchanges: listOf({ $ref: '#/components/schemas/Exchange' }) },
    { next: { ...count, description: 'Present if there are more rounds: pass it as `after` to get them.' } },
  ),
  Written: object({
    seq: { type: 'integer', minimum: 0, description: 'The number of the entry that was written.' },
  }),
  Agents: object({
    agents: listOf(
      object(
        {
          name: text,
          tools: { ...listOf(text), description: 'The names of its tools.' },
          models: {
            ...listOf(text),
            description: 'The ids of the models to choose from. The first one is the default.',
          },
        },
        agentFields,
      ),
    ),
  }),
  Agent: object(
    {
      name: text,
      tools: listOf(toolSpec),
      models: listOf(
        object(
          { id: text, provider: text },
          { contextTokens: count, isFallback: { const: true }, isSimulated: { const: true } },
        ),
      ),
      settings: { type: 'object', description: 'Without `headers` and `extra`, which may contain keys.' },
      limits: { type: 'object', additionalProperties: { type: 'number' } },
    },
    {
      ...agentFields,
      system: text,
      rules: {
        ...listOf(text),
        description: 'What happens to tool calls: rules in the order in which they are tried.',
      },
      toolChoice,
      output: { type: 'object', description: 'The JSON Schema of its answers.' },
      budget: { type: 'object' },
    },
  ),
  Usage: object({
    usage: {
      type: 'object',
      additionalProperties: object({ used: { type: 'number' }, limit: { type: 'number' } }),
    },
  }),
  Spending: object({ spending: listOf(spendingRow) }),
  VoiceAbilities: object({ speak: { type: 'boolean' }, listen: { type: 'boolean' } }),
  Health: object({ status: { const: 'ok' }, ready: { type: 'boolean' }, problems: listOf(text) }, probe),
  Readiness: object({ status: { enum: ['ready', 'unready'] }, problems: listOf(text) }, probe),
} satisfies Record<string, JsonObject>
