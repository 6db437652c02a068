import OpenAI from 'openai'
import { expect } from 'vitest'
import { z } from 'zod'
import type { Agent } from '../../agent/index.ts'
import { agent } from '../../agent/index.ts'
import type { JsonObject } from '../../protocol/index.ts'
import { scriptedModel } from '../../testing/index.ts'
import { tool } from '../../tools/index.ts'

type Responses = OpenAI.Responses.Response
export type StreamEvent = OpenAI.Responses.ResponseStreamEvent

/** A tool of the client, as its requests declare it. */
export function functionTool(name: string, properties: JsonObject = { of: { type: 'string' } }) {
  const parameters = { type: 'object', properties, required: Object.keys(properties) }
  return { type: 'function' as const, name, description: `Runs ${name}`, parameters, strict: false }
}

/** The parameters of a request to `picker`. */
export const pickColor = { model: 'picker', input: 'Pick.', tools: [functionTool('pick_color')] }

/** The parameters of a request to `worker`. */
export const work = { model: 'worker', input: 'Work.', tools: [functionTool('pick')] }

/**
 * An agent that reasons, speaks, and calls two tools of the server and one of the client at the same
 * time. `ran` has the calls that the server ran.
 */
export function worker({ deltaChars = 4, paceMs = 0 } = {}): { agent: Agent; ran: string[] } {
  const ran: string[] = []
  const serverTool = (name: string) =>
    tool({
      name,
      description: `Runs ${name}`,
      input: z.object({ at: z.string() }),
      run({ at }) {
        ran.push(name)
        return `${name} at ${at}`
      },
    })
  const model = scriptedModel(
    ({ messages, tools }) => {
      if (messages.at(-1)?.role === 'tool')
        return [
          { reasoning: 'That is enough.' },
          { text: 'All of it is done.' },
          { usage: { inputTokens: 20, outputTokens: 7, reasoningTokens: 2 } },
        ]
      return [
        { reasoning: 'First I look, then I weigh.' },
        { text: 'Let me look at the wheel.' },
        { call: 'look', input: { at: 'wheel' }, id: 'call_a' },
        { call: 'weigh', input: { at: 'flour' }, id: 'call_b' },
        ...(tools.some(({ name }) => name === 'pick')
          ? [{ call: 'pick', input: { of: 'sacks' }, id: 'call_c' }]
          : []),
        { usage: { inputTokens: 10, outputTokens: 5, reasoningTokens: 1, cacheReadTokens: 4 } },
      ]
    },
    { deltaChars, paceMs },
  )
  const tools = [serverTool('look'), serverTool('weigh')]
  return { agent: agent({ name: 'worker', model, tools }), ran }
}

/** The types of the items in the output of a response. */
export function outputTypes({ output }: Pick<Responses, 'output'>): string[] {
  return output.map(({ type }) => type)
}

export async function collect<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const all: Value[] = []
  for await (const value of values) all.push(value)
  return all
}

/** The error that the SDK throws. */
export async function failure(request: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const thrown = await request.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(thrown).toBeInstanceOf(OpenAI.APIError)
  return thrown as InstanceType<typeof OpenAI.APIError>
}

/**
 * What a stream says: deltas that arrive late are joined, so only their concatenation counts, and
 * where it is split does not.
 */
export function joinDeltas(events: readonly StreamEvent[]) {
  const deltas: Record<string, string> = {}
  for (const event of events)
    if ('delta' in event && 'item_id' in event)
      deltas[event.item_id] = (deltas[event.item_id] ?? '') + event.delta
  return { deltas, others: events.filter((event) => !('delta' in event)) }
}
