import type { Fault, FaultKind } from '@millrace/simulator'
import { faultPlan, printFaults, providerSimulator } from '@millrace/simulator'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { isWhole, sized } from '../../../../test/size.ts'
import { agent } from '../agent/index.ts'
import type { JsonObject, RunEvent } from '../protocol/index.ts'
import { toolCallsOf } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { wires } from './every-model.test-kit.ts'
import { nodeTransports, sendBy } from './wire/wire.test-kit.ts'

// Whatever a provider does wrong, a run recovers or ends with the right code. It never hangs or
// throws, no truncated call runs, nothing is shown twice without being retracted, and no socket
// stays open.

const words = 'Ich notiere “zwei Dinge” 😀: \\ '
const inputs: readonly JsonObject[] = [
  { text: 'first: “Ä” \\ 😀', n: 1 },
  { text: 'second thing to be noted', n: 2 },
]
const first: ScriptRound = [
  { reasoning: 'Two notes, then.' },
  { text: words },
  ...inputs.map((input) => ({ call: 'note', input })),
]
const answer = 'All of it is noted.'

type Wire = keyof typeof wires

/** Short only for faults that stall; otherwise generous, for busy machines. */
const idleLimit = (faults: readonly Fault[]) =>
  faults.some(({ kind }) => kind === 'stall' || kind === 'pings') ? 250 : 10_000

async function play(wire: Wire, faults: readonly Fault[]) {
  const idleMs = idleLimit(faults)
  await using sim = await providerSimulator(
    // The same round for every request, until there are results.
    ({ body }) => (JSON.stringify(body).includes('was noted') ? answer : first),
    { faults, deltaChars: 5 },
  )
  const noted: unknown[] = []
  const note = tool({
    name: 'note',
    description: 'Notes something',
    input: z.object({ text: z.string(), n: z.number() }),
    run: (input) => {
      noted.push(input)
      return `it was noted: ${input.n}`
    },
  })
  const run = agent({
    model: wires[wire](sim),
    tools: [note],
    retry: { attempts: 3, baseMs: 0, maxDelayMs: 1000 },
    firstEventMs: idleMs,
    idleMs,
    maxRounds: 4,
  }).stream('Note two things.')
  const events: RunEvent[] = []
  for await (const event of run) events.push(event)
  const result = await run.result
  await sim.idle()
  checkInvariants(events)
  for (const input of noted) expect(inputs).toContainEqual(input)
  expect(new Set(noted.map((input) => JSON.stringify(input))).size).toBe(noted.length)
  const calls = result.messages.flatMap(toolCallsOf).map(({ callId }) => callId)
  const results = result.messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))
  expect(results).toEqual(calls)
  return { result, events, noted, sim, shown: shownIn(events) }
}

function checkInvariants(events: readonly RunEvent[]) {
  expect(events[0]?.type).toBe('run-start')
  expect(events.filter(({ type }) => type === 'run-end')).toHaveLength(1)
  expect(events.at(-1)?.type).toBe('run-end')
}

/** The text of each round that a client shows in the end, after retractions. */
function shownIn(events: readonly RunEvent[]): string[] {
  const rounds: string[] = []
  for (const event of events) {
    if (event.type === 'round-start') rounds.push('')
    if (event.type === 'round-retract') rounds[rounds.length - 1] = ''
    if (event.type === 'text') rounds[rounds.length - 1] += event.text
  }
  return rounds
}

/** Each text is shown once; that of the first round may be incomplete. */
function expectWordsOnce(shown: readonly string[]) {
  expect(words.startsWith(shown[0] ?? '')).toBe(true)
  expect(shown.at(-1)).toBe(answer)
}

const wireNames = Object.keys(wires) as Wire[]

describe.each(nodeTransports)('a fault in one request, by %s', (transport) => {
  sendBy(transport)

  const passing: readonly FaultKind[] = [
    { kind: 'refuse' },
    { kind: 'reset', at: 'before-headers' },
    { kind: 'reset', at: 'after-headers' },
    { kind: 'reset', at: { event: 3, byte: 'utf8' } },
    { kind: 'reset', at: { event: 3, byte: 'escape' } },
    { kind: 'stall', at: 'before-headers' },
    { kind: 'stall', at: 'after-headers' },
    { kind: 'stall', at: { event: 5 } },
    { kind: 'stall', at: { event: 5, byte: 20 } },
    { kind: 'end', at: 'after-headers' },
    { kind: 'pings', at: { event: 4 }, everyMs: 20 },
    { kind: 'pings', at: 'after-headers', everyMs: 20 },
    { kind: 'malformed', event: 2 },
    { kind: 'malformed', event: -2 },
    { kind: 'error-frame', event: 0 },
    { kind: 'error-frame', event: 6, status: 529 },
    { kind: 'error-frame', event: 6, status: 429 },
    { kind: 'status', status: 408 },
    { kind: 'status', status: 409 },
    { kind: 'status', status: 429 },
    { kind: 'status', status: 429, retryAfter: { seconds: 0 } },
    { kind: 'status', status: 429, retryAfter: { ms: 5 } },
    { kind: 'status', status: 429, retryAfter: { date: -5 } },
    { kind: 'status', status: 500 },
    { kind: 'status', status: 502 },
    { kind: 'status', status: 503, retryAfter: { seconds: 0 } },
    { kind: 'status', status: 504 },
    { kind: 'status', status: 529 },
  ]
  describe.each(wireNames)('%s', (wire) => {
    test.each(passing.map((fault) => [printFaults([fault]), fault] as const))('%s', async (_, fault) => {
      const { result, shown, noted, sim } = await play(wire, [{ ...fault, request: 0 }])
      expect(result).toMatchObject({ outcome: 'completed', text: answer })
      expect(sim.requests[0]?.faults).toHaveLength(1)
      expectWordsOnce(shown)
      expect(noted.length).toBeGreaterThan(0)
    })
  })
})

describe('a permanent fault ends the run with its code', () => {
  const permanent: readonly (readonly [FaultKind, code: string])[] = [
    [{ kind: 'refuse' }, 'stream_error'],
    [{ kind: 'reset', at: 'before-headers' }, 'stream_error'],
    [{ kind: 'reset', at: { event: 3, byte: 10 } }, 'stream_error'],
    [{ kind: 'end', at: { event: 3 } }, 'stream_error'],
    [{ kind: 'stall', at: { event: 1 } }, 'timeout'],
    [{ kind: 'malformed', event: 1 }, 'stream_error'],
    [{ kind: 'status', status: 401 }, 'auth'],
    [{ kind: 'status', status: 403 }, 'auth'],
    [{ kind: 'status', status: 404 }, 'llm_error'],
    [{ kind: 'status', status: 408 }, 'timeout'],
    [{ kind: 'status', status: 409 }, 'llm_error'],
    [{ kind: 'status', status: 413 }, 'context_overflow'],
    [{ kind: 'status', status: 429 }, 'rate_limit'],
    [{ kind: 'status', status: 429, retryAfter: { seconds: 315_360_000 } }, 'rate_limit'],
    [{ kind: 'status', status: 500 }, 'llm_error'],
    [{ kind: 'status', status: 503 }, 'overloaded'],
    [{ kind: 'status', status: 529 }, 'overloaded'],
    [{ kind: 'error-frame', event: 1, status: 529 }, 'overloaded'],
    [{ kind: 'html' }, 'llm_error'],
    [{ kind: 'content-type', type: 'text/plain' }, 'llm_error'],
    [{ kind: 'content-type', type: 'application/json' }, 'llm_error'],
    [{ kind: 'oversize', event: 1, bytes: 34_000_000 }, 'stream_error'],
  ]
  describe.each(wireNames)('%s', (wire) => {
    test.each(permanent.map(([fault, code]) => [printFaults([fault]), code, fault] as const))(
      '%s: %s',
      async (_, code, fault) => {
        const { result, noted } = await play(wire, [fault])
        expect(result).toMatchObject({ outcome: 'failed', error: { code } })
        expect(noted).toEqual([])
        expect(JSON.stringify(result.error)).not.toContain('sk-test')
      },
    )
  })
})

describe('irregular but valid streams change nothing', () => {
  const harmless: readonly FaultKind[] = [
    { kind: 'chunks', bytes: 1 },
    { kind: 'chunks', bytes: 'all' },
    { kind: 'chunks', bytes: [1, 50, 3] },
    { kind: 'unknown-event', event: 0 },
    { kind: 'unknown-event', event: 4 },
    { kind: 'unknown-event', event: -1 },
    { kind: 'unknown-fields' },
    { kind: 'unknown-block' },
    { kind: 'oversize', event: 2, bytes: 200_000 },
    { kind: 'no-usage' },
    { kind: 'same-call-ids' },
    { kind: 'sse', newline: 'crlf' },
    { kind: 'sse', newline: 'cr', bom: true },
    { kind: 'sse', comments: true, fields: true, dataLines: true },
    { kind: 'sse', finalBlank: false },
    { kind: 'sse', done: false },
  ]
  describe.each(wireNames)('%s', (wire) => {
    test.each(harmless.map((fault) => [printFaults([fault]), fault] as const))('%s', async (_, fault) => {
      const { result, shown, noted } = await play(wire, [fault])
      expect(result).toMatchObject({ outcome: 'completed', text: answer })
      expect(shown).toEqual([words, answer])
      expect(noted).toEqual(inputs)
    })
  })
})

describe('the model gets an error for invalid arguments, and the call never runs', () => {
  describe.each(wireNames)('%s', (wire) => {
    test.each(['malformed', 'truncated', 'empty', 'double-encoded'] as const)('%s', async (how) => {
      const { result, events, noted } = await play(wire, [{ kind: 'arguments', call: 1, how, request: 0 }])
      expect(result).toMatchObject({ outcome: 'completed', text: answer })
      expect(noted).toEqual([inputs[0]])
      const results = events.filter((event) => event.type === 'tool-result')
      expect(results).toMatchObject([{ status: 'ok' }, { status: 'rejected', isError: true }])
    })

    test('cut off by the token limit', async () => {
      const { result, noted } = await play(wire, [{ kind: 'length-cut', call: 1, request: 0 }])
      expect(result.outcome).toBe('truncated')
      expect(noted).toEqual([inputs[0]])
    })
  })
})

/** The step between the events that are tested. */
const stride = isWhole ? 1 : 5

describe.each(nodeTransports)('wherever the first answer breaks off, by %s', (transport) => {
  sendBy(transport)

  describe.each(wireNames)('%s', (wire) => {
    test.each(['reset', 'end'] as const)('%s at every event', async (kind) => {
      for (let event = 0; event < 60; event += stride) {
        const { result, shown, sim } = await play(wire, [{ kind, at: { event }, request: 0 }])
        if (sim.requests[0]?.faults.length === 0) return
        expect(result, `at event ${event}`).toMatchObject({ outcome: 'completed', text: answer })
        expectWordsOnce(shown)
      }
      expect.unreachable('the answer has more events than were tried')
    })
  })
})

describe('a second answer in the same stream', () => {
  describe.each(wireNames)('%s', (wire) => {
    // Without its own id, a second Chat Completions answer only looks like more calls of the first.
    const starts = wire === 'Chat Completions' ? [true] : [true, false]
    test.each(starts)('at every event, with its own start: %s', async (start) => {
      for (let event = 0; event < 80; event += stride) {
        const fault: Fault = { kind: 'splice', event, start, request: 0 }
        const { result, shown, sim, events } = await play(wire, [fault])
        if (sim.requests[0]?.faults.length === 0) return expect(event).toBeGreaterThan(20)
        expect(result, `event ${event}`).toMatchObject({ outcome: 'completed', text: answer })
        expectWordsOnce(shown)
        expect(events.filter(({ type }) => type === 'round-retract').length).toBeLessThanOrEqual(1)
      }
      expect.unreachable('the answer has more events than were tried')
    })

    test('never runs a call of the first with the arguments of the second', async () => {
      const round: ScriptRound = [{ call: 'read_file', input: { path: 'report.txt' } }]
      for (let event = 0; event < 12; event += stride)
        for (const start of starts) {
          const ran: string[] = []
          const file = (name: string) =>
            tool({
              name,
              description: name,
              input: z.object({ path: z.string() }),
              run: ({ path }) => {
                ran.push(`${name} ${path}`)
                return 'done'
              },
            })
          await using sim = await providerSimulator(
            ({ body }) =>
              /"(tool|tool_result|function_call_output)"/.test(JSON.stringify(body))
                ? 'Done.'
                : [{ text: 'So. ' }, { call: 'delete_file', input: { path: 'secrets.txt' } }],
            { faults: [{ kind: 'splice', event, round, start, request: 0 }], deltaChars: 4 },
          )
          const tools = ['delete_file', 'read_file'].map(file)
          const retry = { attempts: 3, baseMs: 0 }
          const { outcome } = await agent({ model: wires[wire](sim), tools, retry }).run('Go.')
          expect(outcome).toBe('completed')
          expect(ran, `event ${event}`).not.toContain('delete_file report.txt')
          for (const one of ran) expect(['delete_file secrets.txt', 'read_file report.txt']).toContain(one)
        }
    })
  })
})

describe('unusual answers', () => {
  test.each(wireNames)('%s: an empty answer is retried', async (wire) => {
    for (const fault of [{ kind: 'empty' }, { kind: 'empty', finish: 'tool-calls' }] as const) {
      const { result, noted, sim } = await play(wire, [{ ...fault, request: 0 }])
      expect(result).toMatchObject({ outcome: 'completed', text: answer })
      expect(sim.requests).toHaveLength(3)
      expect(noted).toEqual(inputs)
      const failed = await play(wire, [fault])
      expect(failed.result).toMatchObject({ outcome: 'failed', error: { code: 'empty_answer' } })
      expect(failed.sim.requests).toHaveLength(2)
    }
  })

  test.each(wireNames)(
    '%s: a call that starts and never closes does not run, and the model gets the reason',
    async (wire) => {
      const { result, noted, events } = await play(wire, [{ kind: 'unclosed-call', call: 1, request: 0 }])
      expect(result).toMatchObject({ outcome: 'completed', text: answer })
      expect(noted).toEqual([inputs[0]])
      const results = events.filter((event) => event.type === 'tool-result')
      expect(results).toMatchObject([{ status: 'ok' }, { status: 'rejected', isError: true }])
    },
  )

  test('Messages: content in the start event is read, and its container is sent back', async () => {
    const { result, noted, sim, shown } = await play('Messages', [{ kind: 'content-in-start', request: 0 }])
    expect(result).toMatchObject({ outcome: 'completed', text: answer })
    expect(noted).toEqual(inputs)
    expect(shown).toEqual([words, answer])
    expect(sim.requests[1]?.body).toMatchObject({ container: expect.stringContaining('container') })
  })

  test('Responses: an item that is only in the final response is found there', async () => {
    for (let item = 0; item < 4; item++) {
      const { result, noted, sim } = await play('Responses', [{ kind: 'no-item-done', item, request: 0 }])
      expect(sim.requests[0]?.faults, `item ${item}`).toHaveLength(1)
      expect(result).toMatchObject({ outcome: 'completed', text: answer })
      expect(noted).toEqual(inputs)
    }
  })

  test('Responses: calls that the provider ran are not ours, whatever their names', async () => {
    const rounds: ScriptRound[] = [
      [
        { providerTool: 'x_keyword_search', input: { query: 'cats' } },
        { providerTool: 'note', input: { text: 'not ours', n: 3 } },
        { text: 'Found them. ' },
        { call: 'note', input: inputs[0] as JsonObject },
      ],
      answer,
    ]
    await using sim = await providerSimulator(rounds, { faults: [{ kind: 'custom-provider-calls' }] })
    const noted: unknown[] = []
    const note = tool({
      name: 'note',
      description: 'Notes something',
      input: z.object({ text: z.string(), n: z.number() }),
      run: (input) => void noted.push(input),
    })
    const run = agent({ model: wires.Responses(sim), tools: [note] }).stream('Go.')
    expect(await run.result).toMatchObject({ outcome: 'completed', text: answer, rounds: 2 })
    expect(noted).toEqual([inputs[0]])
  })
})

describe('repeated or reordered events', () => {
  test('are recognized by their numbers on Responses: nothing is emitted twice', async () => {
    for (let event = 0; event < 40; event += stride) {
      const { result, shown, noted } = await play('Responses', [{ kind: 'duplicate', event, request: 0 }])
      expect(result, `event ${event}`).toMatchObject({ outcome: 'completed', text: answer })
      expect(shown).toEqual([words, answer])
      expect(noted).toEqual(inputs)
    }
  })

  // Without numbers, a repeated delta cannot be distinguished from two equal ones.
  test.each(wireNames)('end cleanly on %s', async (wire) => {
    for (const kind of ['duplicate', 'reorder'] as const)
      for (let event = 0; event < 24; event += 3) {
        const { result } = await playLoosely(wire, [{ kind, event, request: 0 }])
        expect(['completed', 'failed'], `${kind} ${event}`).toContain(result.outcome)
      }
  })
})

describe.each(nodeTransports)('random faults, by %s', (transport) => {
  sendBy(transport)

  test.each(wireNames)(
    '%s: a run ends with a result for each call and closed sockets',
    async (wire) => {
      for (let seed = 0; seed < sized(60); seed++) {
        const faults = faultPlan(seed)
        try {
          await playLoosely(wire, faults)
        } catch (error) {
          throw new Error(`seed ${seed}:\n${printFaults(faults)}`, { cause: error })
        }
      }
    },
    60_000,
  )
})

/** Like `play`, for faults that change the content of the answer. */
async function playLoosely(wire: Wire, faults: readonly Fault[]) {
  await using sim = await providerSimulator(
    ({ body }) => (JSON.stringify(body).includes('was noted') ? answer : first),
    { faults, deltaChars: 5 },
  )
  const note = tool({
    name: 'note',
    description: 'Notes something',
    input: z.object({ text: z.string(), n: z.number() }),
    run: ({ n }) => `it was noted: ${n}`,
  })
  const run = agent({
    model: wires[wire](sim),
    tools: [note],
    retry: { attempts: 4, baseMs: 0, maxDelayMs: 100 },
    firstEventMs: idleLimit(faults),
    idleMs: idleLimit(faults),
    maxRounds: 4,
  }).stream('Note two things.')
  const events: RunEvent[] = []
  for await (const event of run) events.push(event)
  const result = await run.result
  await sim.idle()
  checkInvariants(events)
  const calls = result.messages.flatMap(toolCallsOf).map(({ callId }) => callId)
  expect(new Set(calls).size).toBe(calls.length)
  return { result, events }
}
