import { readWith } from '../wire/reader.test-kit.ts'
import { responsesReader } from './reader.ts'

/** Reads these events, which are numbered in order unless they have a number. */
export function readFrames(frames: readonly unknown[]) {
  const numbered = frames.map((frame, number) =>
    typeof frame === 'string' ? frame : { sequence_number: number, ...Object(frame) },
  )
  const custom = new Set(['sql'])
  return readWith((events) => responsesReader(events, { provider: 'acme', custom }), numbered)
}

export const created = {
  type: 'response.created',
  response: { id: 'resp_1', object: 'response', status: 'in_progress', model: 'acme-1', output: [] },
}

/** The terminal event, with further fields of the response. */
export const completed = (response: object = {}) => ({
  type: 'response.completed',
  response: {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'acme-1',
    output: [],
    ...response,
  },
})

export const itemAdded = (output_index: number, item: object) => ({
  type: 'response.output_item.added',
  output_index,
  item,
})

export const itemDone = (output_index: number, item: object) => ({
  type: 'response.output_item.done',
  output_index,
  item,
})

/** An event of an item; `type` is added to `response.`. Without an item id, like some servers. */
export const itemEvent = (output_index: number, type: string, more: object) => ({
  type: `response.${type}`,
  output_index,
  ...more,
})

export const message = (content: readonly object[] = [], more: object = {}) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: content.length > 0 ? 'completed' : 'in_progress',
  content,
  ...more,
})

export const outputText = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] })

export const functionCall = (args = '', more: object = {}) => ({
  id: 'fc_1',
  type: 'function_call',
  status: args === '' ? 'in_progress' : 'completed',
  call_id: 'a',
  name: 'weather',
  arguments: args,
  ...more,
})
