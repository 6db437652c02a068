import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { Wire } from '../bench/contract.ts'
import { bodyStore, readRequest } from '../bench/server/serve.ts'
import type { Model } from '../packages/millrace/src/index.ts'
import { agent, tool } from '../packages/millrace/src/index.ts'
import { anthropic } from '../packages/millrace/src/models/anthropic.ts'
import { openai, openaiChat } from '../packages/millrace/src/models/openai.ts'
import { pushEvents, pushedStream } from '../packages/millrace/src/protocol/index.ts'
import type { Work, WorkCount } from './work-count.ts'
import { countWork } from './work-count.ts'

const wires = ['chat', 'responses', 'messages'] as const

const store = bodyStore()

/**
 * A model whose provider plays a scenario of the benchmark in this process, without being counted.
 */
function playing(name: string, wire: Wire, count: WorkCount): Model {
  const callsPerRound = store.scenario(name)?.callsPerRound ?? 0
  store.prepare(name, wire)
  const fetch = async (_: string, { body }: RequestInit) =>
    count.aside(() => {
      const { results, ...options } = readRequest(wire, String(body), callsPerRound)
      const pieces = store.body(name, wire, callsPerRound > 0 ? results / callsPerRound : 0, options)
      let at = 0
      const stream = new ReadableStream<Uint8Array>({
        pull(controller) {
          const piece = pieces[at++]
          if (piece) controller.enqueue(piece.bytes)
          else controller.close()
        },
      })
      return new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
    })
  const options = { baseURL: 'http://host.test/v1', apiKey: 'x', fetch }
  if (wire === 'chat') return openaiChat('m', options)
  return wire === 'responses' ? openai('m', options) : anthropic('m', { ...options, maxOutputTokens: 1000 })
}

/** The work for a tool call whose arguments arrive in 16-byte deltas. */
async function workOfArguments(
  bytes: number,
  wire: Wire,
  onInput?: (content: string) => void,
): Promise<Work> {
  const count = countWork()
  try {
    const model = playing(`arguments-${bytes}`, wire, count)
    const writeFile = tool({
      name: 'write_file',
      description: 'Writes a file',
      input: z.object({ path: z.string(), content: z.string() }),
      ...(onInput && { onInput: ({ content }: { content?: string }) => content && onInput(content) }),
      run: ({ content }) => `${content.length} characters`,
    })
    const before = { ...count.work }
    const run = agent({ model, tools: [writeFile] }).stream('Write it.')
    for await (const event of run) if (event.type === 'run-end') expect(event.outcome).toBe('completed')
    return { chars: count.work.chars - before.chars, elements: count.work.elements - before.elements }
  } finally {
    count.stop()
  }
}

describe('ten times the arguments take ten times the work', () => {
  test.each(wires)('to receive them: %s', async (wire) => {
    await workOfArguments(1000, wire)
    const small = await workOfArguments(20_000, wire)
    const large = await workOfArguments(200_000, wire)
    expect(large.chars / small.chars).toBeLessThan(12)
    expect(large.elements / small.elements).toBeLessThan(12)
    // At least this much was counted.
    expect(large.chars).toBeGreaterThan(200_000)
  })

  test.each(wires)('to show their values at every delta: %s', async (wire) => {
    let seen = 0
    const look = ({ length }: string) => {
      seen += length > 0 ? 1 : 0
    }
    await workOfArguments(1000, wire, look)
    const small = await workOfArguments(20_000, wire, look)
    seen = 0
    const large = await workOfArguments(200_000, wire, look)
    expect(seen).toBeGreaterThan(12_000)
    expect(large.chars / small.chars).toBeLessThan(12)
    expect(large.elements / small.elements).toBeLessThan(12)
  })
})

describe('the cost of a round does not depend on earlier rounds, except for its request', () => {
  test.each(wires)('%s', async (wire) => {
    const count = countWork()
    const spent: { readonly work: Work; readonly messages: number }[] = []
    try {
      const model = playing('rounds-200', wire, count)
      const lookUp = tool({
        name: 'look_up_order',
        description: 'Looks an order up',
        input: z.object({ id: z.string() }),
        run: ({ id }) => `${id} has shipped`,
      })
      let last: Work = { ...count.work }
      // Only the work between two requests, without building them.
      const watched: Model = {
        ...model,
        stream(request, options) {
          const { chars, elements } = count.work
          spent.push({
            work: { chars: chars - last.chars, elements: elements - last.elements },
            messages: request.messages.length,
          })
          const stream = model.stream(request, options)
          return pushedStream((onEvents) => {
            let first = true
            return pushEvents(stream, (events) => {
              if (first) last = { ...count.work }
              first = false
              return onEvents(events)
            })
          })
        },
      }
      const run = agent({ model: watched, tools: [lookUp], maxRounds: 300 }).stream('All of them.')
      let latest = ''
      for await (const event of run) latest = event.type
      expect(latest).toBe('run-end')
      expect((await run.result).outcome).toBe('completed')
    } finally {
      count.stop()
    }
    expect(spent).toHaveLength(201)
    const early = spent[20] as (typeof spent)[number]
    const late = spent[190] as (typeof spent)[number]
    expect(late.work.chars / early.work.chars).toBeLessThan(1.2)
    // The conversation is copied for the request, iterated only a few times, and its size looked up.
    const more = late.work.elements - early.work.elements
    expect(more / (late.messages - early.messages)).toBeLessThan(9)
  })
})
