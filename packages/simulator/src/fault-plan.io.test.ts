import { describe, expect, test } from 'vitest'
import { checkFaults } from './fault-check.ts'
import { faultPlan } from './fault-plan.ts'
import { printFaults } from './fault-print.ts'
import type { Fault } from './faults.ts'
import { providerSimulator } from './provider-simulator.ts'

const seeds = Array.from({ length: 500 }, (_, seed) => seed)

describe('a random plan', () => {
  test('is the same for the same seed on every machine', () => {
    expect(faultPlan('millrace')).toEqual(faultPlan('millrace'))
    expect(faultPlan(42)).toEqual(faultPlan('42'))
    // Hard-coded, to notice differences between machines or versions.
    expect(faultPlan(1)).toMatchInlineSnapshot(`
      [
        {
          "kind": "content-in-start",
          "request": 1,
        },
        {
          "event": 3,
          "kind": "splice",
          "request": 0,
          "start": false,
        },
        {
          "kind": "refuse",
          "request": 0,
        },
      ]
    `)
    expect(faultPlan('a', { count: 2, kinds: ['reset', 'status'] })).toMatchInlineSnapshot(`
      [
        {
          "kind": "status",
          "request": 0,
          "retryAfter": {
            "date": 1,
          },
          "status": 503,
        },
        {
          "kind": "status",
          "request": 0,
          "retryAfter": {
            "date": -60,
          },
          "status": 500,
        },
      ]
    `)
  })

  test('differs from seed to seed', () => {
    expect(new Set(seeds.map((seed) => JSON.stringify(faultPlan(seed)))).size).toBeGreaterThan(450)
  })

  test('is always valid, and covers every kind', () => {
    const kinds = new Set<string>()
    for (const seed of seeds) {
      const plan = faultPlan(seed)
      expect(() => checkFaults(plan, 'test')).not.toThrow()
      expect(JSON.parse(JSON.stringify(plan))).toEqual(plan)
      expect(plan.length).toBeGreaterThanOrEqual(1)
      for (const { kind, request } of plan) {
        kinds.add(kind)
        expect([0, 1, 2]).toContain(request)
      }
    }
    expect(kinds.size).toBe(29)
  })

  test('respects the options', () => {
    for (const seed of seeds) {
      const plan = faultPlan(seed, { requests: 1, count: 4, kinds: ['duplicate', 'refuse'], events: 2 })
      expect(plan).toHaveLength(4)
      for (const fault of plan) {
        expect(fault.request).toBe(0)
        expect(fault.kind === 'refuse' || (fault.kind === 'duplicate' && fault.event < 2)).toBe(true)
      }
    }
  })

  test.each([
    [{ requests: 0 }, 'requests must be a whole number of at least 1, not 0'],
    [{ events: 1.5 }, 'events must be a whole number of at least 1, not 1.5'],
    [{ count: -1 }, 'count must be'],
    [{ kinds: [] }, 'kinds must not be empty'],
    [{ kinds: ['explode' as never] }, "unknown fault kind 'explode'"],
  ])('rejects the options %j', (options, message) => {
    expect(() => faultPlan(1, options)).toThrow(message)
  })
})

describe('a printed plan', () => {
  test('is one readable line for each fault', () => {
    const plan: Fault[] = [
      { kind: 'reset', at: { event: 3, byte: 'utf8' }, request: 0 },
      { kind: 'status', status: 429, retryAfter: { seconds: 0 } },
      { kind: 'malformed', event: 1, data: 'it\'s "no"\n`{json}`\\' },
    ]
    expect(printFaults(plan)).toBe(
      [
        "{ kind: 'reset', at: { event: 3, byte: 'utf8' }, request: 0 }, // request 0 is reset inside a character of event 3 or later",
        "{ kind: 'status', status: 429, retryAfter: { seconds: 0 } }, // every request fails with 429",
        "{ kind: 'malformed', event: 1, data: 'it\\'s \"no\"\\n`{json}`\\\\' }, // every request gets malformed JSON in event 1",
      ].join('\n'),
    )
    expect(printFaults([])).toBe('')
  })

  test('can be evaluated to the same plan', () => {
    const odd: Fault[] = [
      { kind: 'malformed', event: 1, data: 'it\'s "no"\n`{json}`\\' },
      { kind: 'splice', event: 1, round: [{ call: 'a', input: { 'b-c': null, d: [true] } }] },
    ]
    for (const plan of [odd, ...seeds.map((seed) => faultPlan(seed))]) {
      const written = new Function(`return [\n${printFaults(plan)}\n]`)()
      expect(written).toEqual(plan)
      expect(printFaults(plan).split('\n')).toHaveLength(plan.length)
    }
  })
})

describe('an invalid plan', () => {
  test.each<[unknown, string]>([
    ['reset', 'faults must be an array of faults, not a string'],
    [['reset'], "faults[0] must be a fault such as { kind: 'status', status: 429 }, not a string"],
    [[{ kind: 'explode' }], 'faults[0].kind must be one of refuse, reset, '],
    [
      [{ kind: 'refuse' }, { kind: 'reset' }],
      "faults[1].at must be 'before-headers', 'after-headers' or { event",
    ],
    [[{ kind: 'end', at: 'before-headers' }], "faults[0].at must be 'after-headers' or { event"],
    [[{ kind: 'stall', at: { event: 1, bite: 2 } }], 'faults[0].at must be'],
    [
      [{ kind: 'status', status: '429' }],
      'faults[0].status must be a whole number of at least 400, not "429"',
    ],
    [
      [{ kind: 'status', status: 429, retryAfter: 5 }],
      'faults[0].retryAfter must be { seconds }, { date } or { ms }',
    ],
    [[{ kind: 'chunks', bytes: [] }], 'faults[0].bytes must be a whole number of at least 1'],
    [[{ kind: 'arguments', call: 0, how: 'odd' }], "faults[0].how must be 'malformed' or 'truncated'"],
    [[{ kind: 'sse', newline: 'lf' }], "faults[0].newline must be 'crlf' or 'cr', not \"lf\""],
    [[{ kind: 'html', request: -1 }], 'faults[0].request must be a whole number of at least 0, not -1'],
    [
      [{ kind: 'splice', event: 1, round: 7 }],
      "faults[0].round must be text or a list of steps such as [{ text: '…' }], not a number",
    ],
    [
      [{ kind: 'splice', event: 1, round: ['a', { text: 'b' }] }],
      "faults[0].round[0] must be a step such as { text: '…' }, not a string",
    ],
    [[{ kind: 'splice', event: 1, start: 'no' }], 'faults[0].start must be true or false, not "no"'],
    [[{ kind: 'empty', finish: 'done' }], "faults[0].finish must be 'stop' or 'tool-calls' or "],
    [[{ kind: 'unclosed-call' }], 'faults[0].call must be a whole number of at least 0, not undefined'],
    [[{ kind: 'no-item-done', item: -1 }], 'faults[0].item must be a whole number of at least 0, not -1'],
    [[{ kind: 'html', after: 3 }], "faults[0].after is not a field of 'html', which has request"],
  ])('%j is rejected with the name of the field', async (plan, message) => {
    await expect(providerSimulator([], { faults: plan as never })).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining(message),
    })
    expect(() => printFaults(plan as never)).toThrow(message)
  })
})
