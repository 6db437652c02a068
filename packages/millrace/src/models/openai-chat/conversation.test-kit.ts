import type { Message, ToolSpec } from '../../protocol/index.ts'

/** `%PDF`, in base64. */
export const pdf = 'JVBERg=='
/** `Hello, Zoë`. */
export const note = 'SGVsbG8sIFpvw6s='
export const png = 'iVBORw0KGgo='
/** As long as Azure's or Gemini's ids can be. */
export const longId = `call_${'x'.repeat(80)}`

/** Everything a conversation can contain that every API supports in some form. */
export const conversation: readonly Message[] = [
  { role: 'system', content: 'Be brief.' },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'What is this?' },
      { type: 'image', data: png, mediaType: 'image/png' },
      { type: 'image', url: 'https://example.com/cat.jpg' },
      { type: 'image', url: `data:image/png;base64,${png}` },
      { type: 'file', mediaType: 'application/pdf', name: 'bill.pdf', data: pdf },
      { type: 'file', mediaType: 'text/plain', name: 'note.txt', data: note },
    ],
  },
  {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'Elsewhere.', opaque: { provider: 'other', data: { field: 'reasoning' } } },
      { type: 'text', text: 'Let me look.' },
      { type: 'tool-call', callId: 'a', name: 'look', input: { at: 'cat' } },
      { type: 'tool-call', callId: longId, name: 'look', input: { at: 'bill' } },
      { type: 'tool-call', callId: 'call.3', name: 'look', input: {}, raw: '{at: note' },
      { type: 'tool-call', callId: 'd', name: 'look', input: { at: 'nothing' } },
      {
        type: 'provider-tool',
        callId: 'p',
        name: 'web_search',
        input: { query: 'cat' },
        opaque: { provider: 'other', data: { type: 'web_search_call', id: 'p' } },
      },
    ],
  },
  { role: 'tool', callId: 'a', name: 'look', content: [{ type: 'text', text: 'a cat' }] },
  {
    role: 'tool',
    callId: longId,
    name: 'look',
    content: [
      { type: 'json', value: { total: 12.5 } },
      { type: 'image', data: png, mediaType: 'image/png' },
    ],
  },
  {
    role: 'tool',
    callId: 'call.3',
    name: 'look',
    content: [{ type: 'text', text: 'bad JSON' }],
    isError: true,
  },
  { role: 'tool', callId: 'd', name: 'look', content: [] },
  { role: 'system', content: 'The shop closes soon.' },
  { role: 'assistant', content: [{ type: 'text', text: 'A cat and a bill.' }] },
  { role: 'user', content: 'Thanks.' },
]

export const look: ToolSpec = {
  name: 'look',
  description: 'Looks at something',
  inputSchema: {
    type: 'object',
    properties: { at: { type: 'string' } },
    required: ['at'],
    additionalProperties: false,
  },
}

export const wait: ToolSpec = {
  name: 'wait',
  description: 'Waits',
  inputSchema: { type: 'object' },
  strict: false,
}

/** A schema that OpenAI can enforce. */
export const closedAnswer = {
  type: 'object',
  properties: { total: { type: 'number' } },
  required: ['total'],
  additionalProperties: false,
} as const

/** A schema that OpenAI cannot enforce. */
export const openAnswer = {
  type: 'object',
  properties: { total: { type: 'number' }, note: { type: 'string' } },
  required: ['total'],
} as const
