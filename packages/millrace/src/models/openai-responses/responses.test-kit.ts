import { heardBy } from '../wire/reader.test-kit.ts'
import { responsesReader } from './reader.ts'

/** What a reader understands of these events. They are numbered as they come, unless one has a number. */
export function hear(frames: readonly unknown[]) {
  const numbered = frames.map((frame, number) =>
    typeof frame === 'string' ? frame : { sequence_number: number, ...Object(frame) },
  )
  const custom = new Set(['sql'])
  return heardBy((events) => responsesReader(events, { provider: 'acme', custom }), numbered)
}

export const created = {
  type: 'response.created',
  response: { id: 'resp_1', object: 'response', status: 'in_progress', model: 'acme-1', output: [] },
}

/** The end, with whatever the response is to hold. */
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

export const added = (output_index: number, item: object) => ({
  type: 'response.output_item.added',
  output_index,
  item,
})

export const finished = (output_index: number, item: object) => ({
  type: 'response.output_item.done',
  output_index,
  item,
})

/** An event that belongs to an item: `response.` and the rest of its type. Not every server names the item. */
export const of = (output_index: number, type: string, more: object) => ({
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

export const words = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] })

export const functionCall = (args = '', more: object = {}) => ({
  id: 'fc_1',
  type: 'function_call',
  status: args === '' ? 'in_progress' : 'completed',
  call_id: 'a',
  name: 'weather',
  arguments: args,
  ...more,
})
