import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sized } from '../../../../../test/size.ts'
import { callsIn as callsOf, told } from '../wires.test-kit.ts'
import { calling, chunk, ended, hear, type Piece } from './chat.test-kit.ts'

const rome = { callId: 'a', name: 'weather', input: { city: 'Rome' } }
const noon = { callId: 'b', name: 'time', input: { zone: 'UTC' } }

/** The calls in these chunks, ended as calls usually are. */
function callsIn(...chunks: readonly (readonly Piece[])[]) {
  return hear([...chunks.map((pieces) => calling(...pieces)), ended('tool_calls')]).calls
}

describe('fragments of one call', () => {
  test('are told as they come and closed at the finish', () => {
    const { events } = hear([
      calling({ index: 0, id: 'a', name: 'weather', args: '' }),
      calling({ index: 0, args: '{"city":' }),
      calling({ index: 0, args: '"Rome"}' }),
      ended('tool_calls'),
    ])
    expect(events.slice(0, -1)).toEqual([
      { type: 'tool-input-start', callId: 'a', name: 'weather' },
      { type: 'tool-input', callId: 'a', delta: '{"city":' },
      { type: 'tool-input', callId: 'a', delta: '"Rome"}' },
      { type: 'tool-call', ...rome },
    ])
  })

  test('may have blank ids and names after the first', () => {
    const first = { index: 0, id: 'a', name: 'weather', args: '{"city":' }
    expect(callsIn([first], [{ index: 0, id: '', name: '', args: '"Rome"}' }])).toEqual([rome])
    expect(callsIn([first], [{ index: 0, id: null, name: null, args: '"Rome"}' }])).toEqual([rome])
  })

  test('may have other ids and names after the first', () => {
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

  test('without an id get one', () => {
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

  test('of the old kind are joined too', () => {
    const { calls, finish } = hear([
      chunk({ role: 'assistant', content: null, function_call: { name: 'weather', arguments: '' } }),
      chunk({ function_call: { arguments: '{"city":' } }),
      chunk({ function_call: { arguments: '"Rome"}' } }),
      ended('function_call'),
    ])
    expect({ calls, finish }).toEqual({ calls: [{ ...rome, callId: 'call_1' }], finish: 'tool-calls' })
  })

  test('carry back what Gemini gives with them', () => {
    const extra_content = { google: { thought_signature: 'sig' } }
    const { events } = hear([
      chunk({
        tool_calls: [{ index: 0, id: 'a', extra_content, function: { name: 'time', arguments: '{}' } }],
      }),
      ended('stop'),
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
  test('in pieces are put together', () => {
    const args = { index: 0, args: '{"city":"Rome"}' }
    expect(callsIn([{ index: 0, id: 'a', name: 'wea' }], [{ index: 0, name: 'ther' }], [args])).toEqual([
      rome,
    ])
    // Also one that grows.
    expect(callsIn([{ index: 0, id: 'a', name: 'wea' }], [{ index: 0, name: 'weather' }], [args])).toEqual([
      rome,
    ])
  })

  test('that come with every fragment are not repeated', () => {
    const piece = (args: string) => [{ index: 0, id: 'a', name: 'weather', args }]
    expect(callsIn(piece(''), piece('{"city":'), piece('"Rome"}'))).toEqual([rome])
  })

  test('that begin another are told only when they are whole', () => {
    const chunks = [
      calling({ index: 0, id: 'a', name: 'time' }),
      calling({ index: 0, name: '_zone' }),
      calling({ index: 0, args: '{}' }),
      ended('tool_calls'),
    ]
    const { events, calls } = hear(chunks, ['time', 'time_zone'])
    expect(events[0]).toEqual({ type: 'tool-input-start', callId: 'a', name: 'time_zone' })
    expect(calls).toEqual([{ callId: 'a', name: 'time_zone', input: {} }])
  })

  test('that come late hold the arguments back until then', () => {
    const { events } = hear([
      calling({ index: 0, id: 'a', args: '{"city":' }),
      calling({ index: 0, args: '"Rome"' }),
      calling({ index: 0, name: 'weather', args: '}' }),
      ended('tool_calls'),
    ])
    expect(events.slice(0, -1)).toEqual([
      { type: 'tool-input-start', callId: 'a', name: 'weather' },
      { type: 'tool-input', callId: 'a', delta: '{"city":"Rome"}' },
      { type: 'tool-call', ...rome },
    ])
  })

  test('that come late may come with another id', () => {
    expect(
      callsIn([{ index: 0, id: 'a', args: '{"city":"Rome"}' }], [{ index: 0, id: 'z', name: 'weather' }]),
    ).toEqual([rome])
  })

  test('of tools that do not exist are told as they are', () => {
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
  ])('that are %s are none', (_, args) => {
    expect(callsIn([{ index: 0, id: 'a', name: 'time', args }])).toEqual([
      { callId: 'a', name: 'time', input: {} },
    ])
  })

  test('may be an object', () => {
    expect(callsIn([{ index: 0, id: 'a', name: 'weather', args: { city: 'Rome' } }])).toEqual([rome])
  })

  test('may come after an empty object that only stood for them', () => {
    const pieces = [
      [{ index: 0, id: 'a', name: 'weather', args: '{}' }],
      [{ index: 0, args: '{"city":' }],
      [{ index: 0, args: '"Rome"}' }],
    ]
    expect(callsIn(...pieces)).toEqual([rome])
    const { events } = hear([...pieces.map((piece) => calling(...piece)), ended('stop')])
    const told = events.flatMap((event) => (event.type === 'tool-input' ? [event.delta] : []))
    expect(told.join('')).toBe('{"city":"Rome"}')
  })

  test('may be followed by blank ones', () => {
    const first = { index: 0, id: 'a', name: 'weather', args: '{"city":"Rome"}' }
    expect(callsIn([first], [{ index: 0, id: '', args: '' }], [{ index: 0, args: null }])).toEqual([rome])
  })

  test('that are no JSON are a problem with what was written', () => {
    const { events } = hear([
      calling({ index: 0, id: 'a', name: 'time', args: '{zone: UTC}' }),
      ended('stop'),
    ])
    expect(events.find(({ type }) => type === 'tool-call')).toMatchObject({
      input: {},
      raw: '{zone: UTC}',
      problem: expect.stringContaining('not valid JSON'),
    })
  })

  test('of a call that was closed cannot grow', () => {
    const { error, calls } = hear([
      calling({ index: 0, id: 'a', name: 'weather', args: '{"city":"Rome"}' }),
      calling({ index: 1, id: 'b', name: 'time', args: '' }),
      calling({ index: 0, args: ',"day":1}' }),
    ])
    expect(calls).toEqual([rome])
    expect(error).toMatchObject({ code: 'stream_error', message: expect.stringContaining("'a'") })
  })
})

describe('several calls', () => {
  const both = [rome, noon]

  test('one after the other: the first is closed when the second opens', () => {
    const { events } = hear([
      calling({ index: 0, id: 'a', name: 'weather', args: '{"city":"Rome"}' }),
      calling({ index: 1, id: 'b', name: 'time', args: '{"zone":' }),
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

  test('without index, each begun when the one before is whole', () => {
    const calls = callsIn(
      [{ id: 'a', name: 'weather', args: '{"city":' }],
      [{ args: '"Rome"}' }],
      [{ id: 'b', name: 'time', args: '{"zone":' }],
      [{ args: '"UTC"}' }],
    )
    expect(calls).toEqual(both)
  })

  test('at one index, with ids of their own', () => {
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

  test('at one index, with blank ids (Gemini)', () => {
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

  test('at one index, none of which takes arguments', () => {
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
    const begun = [{ index: 0, id: 'a', name: 'weather', args: '' }]
    const named = (...chunks: readonly (readonly Piece[])[]) => callsIn(...chunks).map(({ name }) => name)
    expect(named(begun, [{ index: 0, id: 'b', name: 'time', args: '{}' }])).toEqual(['weather', 'time'])
    expect(named(begun, [{ index: 0, id: 'b', name: 'nap', args: '{}' }])).toEqual(['weather', 'nap'])
    // With the same name it is one whose id has changed.
    expect(named(begun, [{ index: 0, id: 'b', name: 'weather', args: '{}' }])).toEqual(['weather'])
  })

  test('at an index whose call was closed long ago', () => {
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
    // Blank arguments are Alibaba's way to end, and nothing new.
    expect(callsIn(first, second, [{ index: 0, id: '', name: '', args: '' }])).toEqual(both)
    expect(callsIn(first, second, [{ index: 0, id: '', name: 'weather', args: '' }])).toEqual(both)
  })

  test('of one id get an id each', () => {
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
    const { events } = await told('Chat Completions', call('a', '{}'), call('b', '{"id":2}'), end)
    expect(callsOf(events)).toMatchObject([
      { callId: 'a', input: {} },
      { callId: 'b', input: { id: 2 } },
    ])
  })
})

test('a million characters in small pieces, each with the name again, are one call', () => {
  const text = JSON.stringify({ text: '{"a":[]}'.repeat(125_000) })
  const pieces = text.match(/.{1,9}/gs) ?? []
  const { calls } = hear([
    ...pieces.map((args) => JSON.stringify(calling({ index: 0, id: '', name: 'time', args }))),
    ended('stop'),
  ])
  expect(JSON.stringify(calls[0]?.input)).toBe(text)
})

describe('whatever a server does to its calls', () => {
  const tools = ['weather', 'time', 'time_zone', 'find']
  const call = fc.record({
    name: fc.constantFrom(...tools),
    input: fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 1 }), {
      minKeys: 1,
      maxKeys: 3,
    }),
  })
  type Call = { readonly name: string; readonly input: object }

  /** Numbers from 0 to 1, the same for the same seed. (mulberry32 by Tommy Ettinger, public domain.) */
  function dice(seed: number): () => number {
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

  /** Mixes the fragments of several calls, which are begun in order. */
  function mix(calls: readonly (readonly Piece[])[], random: () => number): Piece[] {
    const queues = calls.map((pieces) => [...pieces])
    const mixed: Piece[] = []
    let begun = 0
    while (queues.some((queue) => queue.length > 0)) {
      const next = begun < queues.length && (begun === 0 || random() < 0.3)
      const piece = queues[next ? begun++ : Math.floor(random() * begun)]?.shift()
      if (piece) mixed.push(piece)
    }
    return mixed
  }

  interface Dress {
    /** Whether fragments of several calls may be mixed. */
    readonly mixed: boolean
    /** Whether the arguments come in one piece. */
    readonly whole?: boolean
    readonly first: (call: Call, at: number, args: string) => readonly Piece[]
    readonly next: (call: Call, at: number, args: string) => Piece
  }

  const opened = ({ name }: Call, at: number, args: string) => [{ index: at, id: `c${at}`, name, args }]
  const dresses: Readonly<Record<string, Dress>> = {
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

  test.each(Object.keys(dresses))('%s: each call comes out whole, or not at all when it was cut', (key) => {
    const dress = dresses[key] as Dress
    const scenario = fc.record({
      calls: fc.array(call, { minLength: 1, maxLength: 4 }),
      seed: fc.nat(),
      cutAt: fc.option(fc.nat(40), { nil: undefined }),
    })
    fc.assert(
      fc.property(scenario, ({ calls, seed, cutAt }) => {
        const random = dice(seed)
        // JSON has one zero.
        const wanted = JSON.parse(JSON.stringify(calls)) as Call[]
        const queues = wanted.map((one, at) => {
          const text = JSON.stringify(one.input)
          const [head = '', ...rest] = dress.whole ? [text] : cut(text, random)
          return [...dress.first(one, at, head), ...rest.map((args) => dress.next(one, at, args))]
        })
        const pieces = dress.mixed ? mix(queues, random) : queues.flat()
        const sent = cutAt === undefined ? pieces : pieces.slice(0, cutAt)
        const {
          calls: heard,
          error,
          events,
        } = hear(
          [...sent.map((piece) => calling(piece)), ended(cutAt === undefined ? 'tool_calls' : 'length')],
          tools,
        )
        expect(error).toBeUndefined()
        expect(events.filter((event) => 'problem' in event)).toEqual([])
        const left = tidy(wanted)
        for (const one of tidy(heard as readonly Call[])) {
          expect(left).toContain(one)
          left.splice(left.indexOf(one), 1)
        }
        if (cutAt === undefined) expect(left).toEqual([])
      }),
      { numRuns: sized(100) },
    )
  })
})
