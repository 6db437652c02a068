import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sized } from '../../../../../test/size.ts'
import { callsIn as callsOf, eventsFrom } from '../wires.test-kit.ts'
import { callChunk, chunk, finishChunk, type Piece, readChunks } from './chat.test-kit.ts'

const rome = { callId: 'a', name: 'weather', input: { city: 'Rome' } }
const noon = { callId: 'b', name: 'time', input: { zone: 'UTC' } }

/** The calls in these chunks, followed by the usual finish. */
function callsIn(...chunks: readonly (readonly Piece[])[]) {
  return readChunks([...chunks.map((pieces) => callChunk(...pieces)), finishChunk('tool_calls')]).calls
}

describe('fragments of a single call', () => {
  test('are emitted as they arrive and closed at the finish', () => {
    const { events } = readChunks([
      callChunk({ index: 0, id: 'a', name: 'weather', args: '' }),
      callChunk({ index: 0, args: '{"city":' }),
      callChunk({ index: 0, args: '"Rome"}' }),
      finishChunk('tool_calls'),
    ])
    expect(events.slice(0, -1)).toEqual([
      { type: 'tool-input-start', callId: 'a', name: 'weather' },
      { type: 'tool-input', callId: 'a', delta: '{"city":' },
      { type: 'tool-input', callId: 'a', delta: '"Rome"}' },
      { type: 'tool-call', ...rome },
    ])
  })

  test('may have empty ids and names after the first', () => {
    const first = { index: 0, id: 'a', name: 'weather', args: '{"city":' }
    expect(callsIn([first], [{ index: 0, id: '', name: '', args: '"Rome"}' }])).toEqual([rome])
    expect(callsIn([first], [{ index: 0, id: null, name: null, args: '"Rome"}' }])).toEqual([rome])
  })

  test('may have different ids and names after the first', () => {
    const first = { index: 0, id: 'a', name: 'weather', args: '{"city":' }
    expect(callsIn([first], [{ index: 0, id: 'z', args: '"Rome"}' }])).toEqual([rome])
    expect(callsIn([first], [{ index: 0, id: 'z', name: 'time', args: '"Rome"}' }])).toEqual([rome])
    expect(callsIn([first], [{ index: 0, id: 'a', name: 'weather', args: '"Rome"}' }])).toEqual([rome])
  })

  test('may have no index at all', () => {
    const first = { id: 'a', name: 'weather', args: '{"city":' }
    expect(callsIn([first], [{ args: '"Rome"}' }])).toEqual([rome])
    expect(callsIn([first], [{ id: 'a', args: '"Rome"}' }])).toEqual([rome])
    expect(callsIn([first], [{ id: 'z', args: '"Rome"}' }])).toEqual([rome])
    expect(callsIn([{ ...first, index: null }], [{ index: null, args: '"Rome"}' }])).toEqual([rome])
  })

  test('without an id get a generated one', () => {
    expect(
      callsIn([
        { index: 0, name: 'time', args: '{}' },
        { index: 1, name: 'time', args: '{}' },
      ]),
    ).toEqual([
      { callId: 'call_1', name: 'time', input: {} },
      { callId: 'call_2', name: 'time', input: {} },
    ])
  })

  test('in the old function_call format are joined too', () => {
    const { calls, finish } = readChunks([
      chunk({ role: 'assistant', content: null, function_call: { name: 'weather', arguments: '' } }),
      chunk({ function_call: { arguments: '{"city":' } }),
      chunk({ function_call: { arguments: '"Rome"}' } }),
      finishChunk('function_call'),
    ])
    expect({ calls, finish }).toEqual({ calls: [{ ...rome, callId: 'call_1' }], finish: 'tool-calls' })
  })

  test("keep Gemini's thought signature", () => {
    const extra_content = { google: { thought_signature: 'sig' } }
    const { events } = readChunks([
      chunk({
        tool_calls: [{ index: 0, id: 'a', extra_content, function: { name: 'time', arguments: '{}' } }],
      }),
      finishChunk('stop'),
    ])
    expect(events.find(({ type }) => type === 'tool-call')).toEqual({
      type: 'tool-call',
      callId: 'a',
      name: 'time',
      input: {},
      opaque: { provider: 'acme', data: { extra_content } },
    })
  })
})

describe('names', () => {
  test('in pieces are joined', () => {
    const args = { index: 0, args: '{"city":"Rome"}' }
    expect(callsIn([{ index: 0, id: 'a', name: 'wea' }], [{ index: 0, name: 'ther' }], [args])).toEqual([
      rome,
    ])
    // Also if the full name is repeated as it grows.
    expect(callsIn([{ index: 0, id: 'a', name: 'wea' }], [{ index: 0, name: 'weather' }], [args])).toEqual([
      rome,
    ])
  })

  test('in every fragment are not repeated', () => {
    const piece = (args: string) => [{ index: 0, id: 'a', name: 'weather', args }]
    expect(callsIn(piece(''), piece('{"city":'), piece('"Rome"}'))).toEqual([rome])
  })

  test('that are a prefix of another are emitted only when complete', () => {
    const chunks = [
      callChunk({ index: 0, id: 'a', name: 'time' }),
      callChunk({ index: 0, name: '_zone' }),
      callChunk({ index: 0, args: '{}' }),
      finishChunk('tool_calls'),
    ]
    const { events, calls } = readChunks(chunks, ['time', 'time_zone'])
    expect(events[0]).toEqual({ type: 'tool-input-start', callId: 'a', name: 'time_zone' })
    expect(calls).toEqual([{ callId: 'a', name: 'time_zone', input: {} }])
  })

  test('that come late delay the arguments', () => {
    const { events } = readChunks([
      callChunk({ index: 0, id: 'a', args: '{"city":' }),
      callChunk({ index: 0, args: '"Rome"' }),
      callChunk({ index: 0, name: 'weather', args: '}' }),
      finishChunk('tool_calls'),
    ])
    expect(events.slice(0, -1)).toEqual([
      { type: 'tool-input-start', callId: 'a', name: 'weather' },
      { type: 'tool-input', callId: 'a', delta: '{"city":"Rome"}' },
      { type: 'tool-call', ...rome },
    ])
  })

  test('that come late may have another id', () => {
    expect(
      callsIn([{ index: 0, id: 'a', args: '{"city":"Rome"}' }], [{ index: 0, id: 'z', name: 'weather' }]),
    ).toEqual([rome])
  })

  test('of unknown tools are emitted unchanged', () => {
    expect(callsIn([{ index: 0, id: 'a', name: 'nap', args: '{}' }])).toEqual([
      { callId: 'a', name: 'nap', input: {} },
    ])
  })
})

describe('arguments', () => {
  test.each([
    ['an empty string', ''],
    ['null', null],
    ['missing', undefined],
    ['white space', ' \n'],
    ['an empty object', {}],
    ['the text of an empty object', '{}'],
  ])('that are %s become an empty object', (_, args) => {
    expect(callsIn([{ index: 0, id: 'a', name: 'time', args }])).toEqual([
      { callId: 'a', name: 'time', input: {} },
    ])
  })

  test('may be an object', () => {
    expect(callsIn([{ index: 0, id: 'a', name: 'weather', args: { city: 'Rome' } }])).toEqual([rome])
  })

  test('may follow an empty object that is only a placeholder', () => {
    const pieces = [
      [{ index: 0, id: 'a', name: 'weather', args: '{}' }],
      [{ index: 0, args: '{"city":' }],
      [{ index: 0, args: '"Rome"}' }],
    ]
    expect(callsIn(...pieces)).toEqual([rome])
    const { events } = readChunks([...pieces.map((piece) => callChunk(...piece)), finishChunk('stop')])
    const deltas = events.flatMap((event) => (event.type === 'tool-input' ? [event.delta] : []))
    expect(deltas.join('')).toBe('{"city":"Rome"}')
  })

  test('may be followed by empty ones', () => {
    const first = { index: 0, id: 'a', name: 'weather', args: '{"city":"Rome"}' }
    expect(callsIn([first], [{ index: 0, id: '', args: '' }], [{ index: 0, args: null }])).toEqual([rome])
  })

  test('that are not JSON are a problem, with the raw text', () => {
    const { events } = readChunks([
      callChunk({ index: 0, id: 'a', name: 'time', args: '{zone: UTC}' }),
      finishChunk('stop'),
    ])
    expect(events.find(({ type }) => type === 'tool-call')).toMatchObject({
      input: {},
      raw: '{zone: UTC}',
      problem: expect.stringContaining('not valid JSON'),
    })
  })

  test('of a closed call cannot grow', () => {
    const { error, calls } = readChunks([
      callChunk({ index: 0, id: 'a', name: 'weather', args: '{"city":"Rome"}' }),
      callChunk({ index: 1, id: 'b', name: 'time', args: '' }),
      callChunk({ index: 0, args: ',"day":1}' }),
    ])
    expect(calls).toEqual([rome])
    expect(error).toMatchObject({ code: 'stream_error', message: expect.stringContaining("'a'") })
  })
})

describe('several calls', () => {
  const both = [rome, noon]

  test('in sequence: the first is closed when the second starts', () => {
    const { events } = readChunks([
      callChunk({ index: 0, id: 'a', name: 'weather', args: '{"city":"Rome"}' }),
      callChunk({ index: 1, id: 'b', name: 'time', args: '{"zone":' }),
    ])
    expect(events.map(({ type }) => type)).toEqual([
      'tool-input-start',
      'tool-input',
      'tool-call',
      'tool-input-start',
      'tool-input',
    ])
  })

  test('interleaved', () => {
    const calls = callsIn(
      [{ index: 0, id: 'a', name: 'weather', args: '' }],
      [{ index: 1, id: 'b', name: 'time', args: '' }],
      [{ index: 1, args: '{"zone":' }],
      [{ index: 0, args: '{"city":' }],
      [{ index: 1, args: '"UTC"}' }],
      [{ index: 0, args: '"Rome"}' }],
    )
    expect(calls).toEqual(both)
  })

  test('interleaved in one chunk', () => {
    const calls = callsIn(
      [
        { index: 0, id: 'a', name: 'weather', args: '{"city":' },
        { index: 1, id: 'b', name: 'time', args: '{"zone":' },
      ],
      [
        { index: 1, args: '"UTC"}' },
        { index: 0, args: '"Rome"}' },
      ],
    )
    expect(calls).toEqual(both)
  })

  test('without index, by id', () => {
    const calls = callsIn(
      [{ id: 'a', name: 'weather', args: '{"city":' }],
      [{ id: 'b', name: 'time', args: '{"zone":' }],
      [{ id: 'a', args: '"Rome"}' }],
      [{ id: 'b', args: '"UTC"}' }],
    )
    expect(calls).toEqual(both)
  })

  test('without index and id, by position', () => {
    const calls = callsIn(
      [
        { id: 'a', name: 'weather', args: '{"city":' },
        { id: 'b', name: 'time', args: '{"zone":' },
      ],
      [{ args: '"Rome"}' }, { args: '"UTC"}' }],
    )
    expect(calls).toEqual(both)
  })

  test('without index, each starting when the previous one is complete', () => {
    const calls = callsIn(
      [{ id: 'a', name: 'weather', args: '{"city":' }],
      [{ args: '"Rome"}' }],
      [{ id: 'b', name: 'time', args: '{"zone":' }],
      [{ args: '"UTC"}' }],
    )
    expect(calls).toEqual(both)
  })

  test('at one index, with different ids', () => {
    const calls = callsIn(
      [{ index: 0, id: 'a', name: 'weather', args: '{"city":' }],
      [{ index: 0, args: '"Rome"}' }],
      [{ index: 0, id: 'b', name: 'time', args: '{"zone":"UTC"}' }],
    )
    expect(calls).toEqual(both)
  })

  test('at one index, of the same tool', () => {
    const calls = callsIn(
      [{ index: 0, id: 'a', name: 'weather', args: '{"city":"Rome"}' }],
      [{ index: 0, id: 'b', name: 'weather', args: '{"city":"Oslo"}' }],
      [{ index: 0, id: 'c', name: 'weather', args: '{"city":"Rome"}' }],
    )
    expect(calls.map(({ callId, input }) => [callId, input])).toEqual([
      ['a', { city: 'Rome' }],
      ['b', { city: 'Oslo' }],
      ['c', { city: 'Rome' }],
    ])
  })

  test('at one index, with empty ids (Gemini)', () => {
    const gemini = (name: string, args: string) => [{ index: 0, id: '', name, args }]
    expect(callsIn(gemini('weather', '{"city":"Rome"}'), gemini('time', '{"zone":"UTC"}'))).toEqual([
      { ...rome, callId: 'call_1' },
      { ...noon, callId: 'call_2' },
    ])
    expect(callsIn(gemini('weather', '{}'), gemini('time', '{}')).map(({ name }) => name)).toEqual([
      'weather',
      'time',
    ])
  })

  test('at one index, all without arguments', () => {
    const calls = callsIn(
      [{ index: 0, id: 'a', name: 'weather', args: '{}' }],
      [{ index: 0, id: 'b', name: 'weather', args: '{}' }],
      [{ index: 0, id: 'c', name: 'time', args: '' }],
    )
    expect(calls.map(({ callId, name }) => [callId, name])).toEqual([
      ['a', 'weather'],
      ['b', 'weather'],
      ['c', 'time'],
    ])
  })

  test('at one index, before the first has any arguments', () => {
    const started = [{ index: 0, id: 'a', name: 'weather', args: '' }]
    const named = (...chunks: readonly (readonly Piece[])[]) => callsIn(...chunks).map(({ name }) => name)
    expect(named(started, [{ index: 0, id: 'b', name: 'time', args: '{}' }])).toEqual(['weather', 'time'])
    expect(named(started, [{ index: 0, id: 'b', name: 'nap', args: '{}' }])).toEqual(['weather', 'nap'])
    // With the same name, it is one call whose id has changed.
    expect(named(started, [{ index: 0, id: 'b', name: 'weather', args: '{}' }])).toEqual(['weather'])
  })

  test('at the index of a call that was closed long ago', () => {
    const [first, second] = [
      [{ index: 0, id: 'a', name: 'weather', args: '{"city":"Rome"}' }],
      [{ index: 1, id: 'b', name: 'time', args: '{"zone":"UTC"}' }],
    ]
    const third = { callId: 'c', name: 'time', input: { zone: 'CET' } }
    const args = '{"zone":"CET"}'
    expect(callsIn(first, second, [{ index: 0, id: 'c', name: 'time', args }])).toEqual([...both, third])
    expect(
      callsIn(first, second, [{ index: 0, id: 'c', name: 'time', args: '' }], [{ index: 0, args }]),
    ).toEqual([...both, third])
    expect(callsIn(first, second, [{ index: 0, id: '', name: 'time', args }])).toMatchObject([
      ...both,
      { ...third, callId: 'call_3' },
    ])
    // Empty arguments are how Alibaba ends a call, not a new one.
    expect(callsIn(first, second, [{ index: 0, id: '', name: '', args: '' }])).toEqual(both)
    expect(callsIn(first, second, [{ index: 0, id: '', name: 'weather', args: '' }])).toEqual(both)
  })

  test('with the same id get different ids', () => {
    const calls = callsIn(
      [{ index: 0, id: 'a', name: 'weather', args: '{"city":"Rome"}' }],
      [{ index: 1, id: 'a', name: 'time', args: '{"zone":"UTC"}' }],
    )
    expect(calls).toEqual([rome, { ...noon, callId: 'a_2' }])
  })

  test('at one index, the first with an empty object for its arguments', async () => {
    const call = (id: string, args: string) => ({
      choices: [
        { index: 0, delta: { tool_calls: [{ index: 0, id, function: { name: 'del', arguments: args } }] } },
      ],
    })
    const end = { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }
    const { events } = await eventsFrom('Chat Completions', call('a', '{}'), call('b', '{"id":2}'), end)
    expect(callsOf(events)).toMatchObject([
      { callId: 'a', input: {} },
      { callId: 'b', input: { id: 2 } },
    ])
  })
})

test('a million characters in small pieces, each with the name again, are one call', () => {
  const text = JSON.stringify({ text: '{"a":[]}'.repeat(125_000) })
  const pieces = text.match(/.{1,9}/gs) ?? []
  const { calls } = readChunks([
    ...pieces.map((args) => JSON.stringify(callChunk({ index: 0, id: '', name: 'time', args }))),
    finishChunk('stop'),
  ])
  expect(JSON.stringify(calls[0]?.input)).toBe(text)
})

describe('calls in every known server format', () => {
  const tools = ['weather', 'time', 'time_zone', 'find']
  const call = fc.record({
    name: fc.constantFrom(...tools),
    input: fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 1 }), {
      minKeys: 1,
      maxKeys: 3,
    }),
  })
  type Call = { readonly name: string; readonly input: object }

  /**
   * Numbers from 0 to 1, the same for the same seed. (mulberry32 by Tommy Ettinger, public domain.)
   */
  function seededRandom(seed: number): () => number {
    let state = seed
    return () => {
      state = (state + 0x6d2b79f5) | 0
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
    }
  }

  /** Cuts a text at random. */
  function cut(text: string, random: () => number): string[] {
    const pieces: string[] = []
    for (let at = 0; at < text.length; ) {
      const end = at + 1 + Math.floor(random() * 8)
      pieces.push(text.slice(at, end))
      at = end
    }
    return pieces
  }

  /** Interleaves the fragments of several calls, which start in order. */
  function mix(calls: readonly (readonly Piece[])[], random: () => number): Piece[] {
    const queues = calls.map((pieces) => [...pieces])
    const mixed: Piece[] = []
    let started = 0
    while (queues.some((queue) => queue.length > 0)) {
      const next = started < queues.length && (started === 0 || random() < 0.3)
      const piece = queues[next ? started++ : Math.floor(random() * started)]?.shift()
      if (piece) mixed.push(piece)
    }
    return mixed
  }

  interface Framing {
    /** Whether fragments of several calls may be interleaved. */
    readonly mixed: boolean
    /** Whether the arguments come in one piece. */
    readonly whole?: boolean
    readonly first: (call: Call, at: number, args: string) => readonly Piece[]
    readonly next: (call: Call, at: number, args: string) => Piece
  }

  const opened = ({ name }: Call, at: number, args: string) => [{ index: at, id: `c${at}`, name, args }]
  const framings: Readonly<Record<string, Framing>> = {
    plain: { mixed: true, first: opened, next: (_, index, args) => ({ index, args }) },
    blank: { mixed: true, first: opened, next: (_, index, args) => ({ index, id: '', name: '', args }) },
    'other ids': {
      mixed: true,
      first: opened,
      next: (_, index, args) => ({ index, id: `x${args.length}`, args }),
    },
    repeated: {
      mixed: true,
      first: opened,
      next: (call, index, args) => ({ index, id: `c${index}`, name: call.name, args }),
    },
    'names again': {
      mixed: true,
      first: opened,
      next: (call, index, args) => ({ index, id: '', name: call.name, args }),
    },
    'split name': {
      mixed: true,
      first: ({ name }, index, args) => [
        { index, id: `c${index}`, name: name.slice(0, 2) },
        { index, name: name.slice(2) },
        { index, args },
      ],
      next: (_, index, args) => ({ index, args }),
    },
    'late name': {
      mixed: true,
      first: ({ name }, index, args) => [
        { index, id: `c${index}`, args },
        { index, name },
      ],
      next: (_, index, args) => ({ index, args }),
    },
    placeholder: {
      mixed: true,
      first: ({ name }, index, args) => [
        { index, id: `c${index}`, name, args: '{}' },
        { index, args },
      ],
      next: (_, index, args) => ({ index, args }),
    },
    'by id': {
      mixed: true,
      first: ({ name }, at, args) => [{ id: `c${at}`, name, args }],
      next: (_, at, args) => ({ id: `c${at}`, args }),
    },
    'no index': {
      mixed: false,
      first: ({ name }, at, args) => [{ id: `c${at}`, name, args }],
      next: (_, __, args) => ({ args }),
    },
    'index 0': {
      mixed: false,
      whole: true,
      first: ({ name }, at, args) => [{ index: 0, id: `c${at}`, name, args }],
      next: (_, __, args) => ({ index: 0, args }),
    },
    gemini: {
      mixed: false,
      whole: true,
      first: ({ name }, _, args) => [{ index: 0, id: '', name, args }],
      next: (_, __, args) => ({ index: 0, args }),
    },
    objects: {
      mixed: false,
      whole: true,
      first: ({ name, input }, index) => [{ index, id: `c${index}`, name, args: input }],
      next: (_, index) => ({ index }),
    },
  }

  const tidy = (calls: readonly Call[]) => calls.map(({ name, input }) => JSON.stringify([name, input]))

  test.each(Object.keys(framings))('%s: each call is complete, or not emitted if it was cut off', (key) => {
    const framing = framings[key] as Framing
    const scenario = fc.record({
      calls: fc.array(call, { minLength: 1, maxLength: 4 }),
      seed: fc.nat(),
      cutAt: fc.option(fc.nat(40), { nil: undefined }),
    })
    fc.assert(
      fc.property(scenario, ({ calls, seed, cutAt }) => {
        const random = seededRandom(seed)
        // JSON has one zero.
        const wanted = JSON.parse(JSON.stringify(calls)) as Call[]
        const queues = wanted.map((one, at) => {
          const text = JSON.stringify(one.input)
          const [head = '', ...rest] = framing.whole ? [text] : cut(text, random)
          return [...framing.first(one, at, head), ...rest.map((args) => framing.next(one, at, args))]
        })
        const pieces = framing.mixed ? mix(queues, random) : queues.flat()
        const sent = cutAt === undefined ? pieces : pieces.slice(0, cutAt)
        const {
          calls: read,
          error,
          events,
        } = readChunks(
          [
            ...sent.map((piece) => callChunk(piece)),
            finishChunk(cutAt === undefined ? 'tool_calls' : 'length'),
          ],
          tools,
        )
        expect(error).toBeUndefined()
        expect(events.filter((event) => 'problem' in event)).toEqual([])
        const left = tidy(wanted)
        for (const one of tidy(read as readonly Call[])) {
          expect(left).toContain(one)
          left.splice(left.indexOf(one), 1)
        }
        if (cutAt === undefined) expect(left).toEqual([])
      }),
      { numRuns: sized(100) },
    )
  })
})
