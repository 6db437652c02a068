import type { Wire } from '../contract.ts'
import type { RenderOptions } from './frame.ts'
import { roundOf } from './ids.ts'

/** What the server has to know of a request. */
export interface Asked extends RenderOptions {
  /** How many tool results it holds, counting those before a response that it goes on from. */
  readonly results: number
}

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null
const listOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isFields) : [])

/** Throws what is to be said of a request that cannot be answered. */
export function readRequest(wire: Wire, text: string, callsPerRound: number): Asked {
  const body: unknown = JSON.parse(text)
  if (!isFields(body)) throw new Error('the body is not an object')
  if (body.stream !== true) throw new Error('only streams are served: "stream" must be true')
  const options = isFields(body.stream_options) ? body.stream_options : {}
  return {
    results: resultsIn[wire](body, callsPerRound),
    usage: options.include_usage === true,
    obfuscation: options.include_obfuscation !== false,
  }
}

const resultsIn: Record<Wire, (body: Fields, callsPerRound: number) => number> = {
  chat: ({ messages }) => listOf(messages).filter(({ role }) => role === 'tool').length,
  responses: ({ input, previous_response_id: previous }, callsPerRound) => {
    const before = typeof previous === 'string' ? roundOf(previous) * callsPerRound : 0
    return before + listOf(input).filter(({ type }) => type === 'function_call_output').length
  },
  messages: ({ messages }) =>
    listOf(messages).flatMap(({ content }) => listOf(content).filter(({ type }) => type === 'tool_result'))
      .length,
}
