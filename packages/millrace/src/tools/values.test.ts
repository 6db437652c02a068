import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/index.ts'
import type { RunEvent, ToolResultEvent } from '../protocol/index.ts'
import { script, scriptedModel } from '../testing/index.ts'
import { tool } from './tool.ts'

/** The result of a tool that returns a value, as seen by a caller. */
async function returning(run: () => unknown) {
  const one = tool({ name: 'one', description: 'Returns', input: z.object({}), run })
  const stream = agent({ model: scriptedModel(script.tool('one', {}, 'Done.')), tools: [one] }).stream('go')
  const events: RunEvent[] = []
  for await (const event of stream) events.push(event)
  const result = events.find((event): event is ToolResultEvent => event.type === 'tool-result')
  const progress = events.flatMap((event) => (event.type === 'tool-progress' ? [event.data] : []))
  return { status: result?.status, output: result?.output, progress }
}

class Money {
  amount = 5
}
class Hidden {
  #amount = 5
  get amount() {
    return this.#amount
  }
}
class Written {
  #amount = 5
  toJSON() {
    return { amount: this.#amount }
  }
}

describe('a result without a JSON form is rejected with an explanation', () => {
  test.each<[string, () => unknown, string]>([
    ['a Map', () => new Map([['a', 1]]), 'a value of class Map'],
    ['a Set', () => new Set([1]), 'a value of class Set'],
    ['an Error', () => new Error('x'), 'a value of class Error'],
    [
      'an Error with fields',
      () => Object.assign(new Error('x'), { code: 'ENOENT' }),
      'a value of class Error',
    ],
    ['bytes', () => new Uint8Array([1, 2]), 'a value of class Uint8Array'],
    ['a Node buffer', () => Buffer.from('hello'), 'a value of class Buffer'],
    ['a buffer', () => new ArrayBuffer(2), 'a value of class ArrayBuffer'],
    ['a function', () => () => 1, 'a function'],
    ['a class', () => Money, 'a function'],
    ['a symbol', () => Symbol('x'), 'a symbol'],
    ['a web stream', () => new ReadableStream(), 'a value of class ReadableStream'],
    ['a Node stream', () => Readable.from(['a']), 'a value of class Readable'],
    ['a response', () => new Response('x'), 'a value of class Response'],
    ['a regular expression', () => /x/, 'a value of class RegExp'],
    ['an object with only private fields', () => new Hidden(), 'a value of class Hidden'],
  ])('%s', async (_, make, what) => {
    for (const run of [make, async () => make()])
      expect(await returning(run)).toMatchObject({
        status: 'failed',
        output: [
          {
            text: `The tool failed: the tool returned ${what}, which has no JSON form: return text, plain data or toolContent(…)`,
          },
        ],
      })
  })
})

describe('a result with a JSON form is converted', () => {
  test.each<[string, () => unknown, unknown]>([
    ['an object of a class with fields', () => new Money(), { amount: 5 }],
    ['an object with toJSON()', () => new Written(), { amount: 5 }],
    ['an object without a prototype', () => Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    ['an empty object', () => ({}), {}],
    ['an empty list', () => [], []],
    ['a URL', () => new URL('https://example.org/'), 'https://example.org/'],
  ])('%s', async (_, run, value) => {
    expect(await returning(run)).toMatchObject({ status: 'ok', output: [{ type: 'json', value }] })
  })
})

describe('any kind of generator is run', () => {
  test.each<[string, () => unknown]>([
    [
      'an async one',
      async function* () {
        yield 1
        yield 2
        return 'end'
      },
    ],
    [
      'a sync one',
      function* () {
        yield 1
        yield 2
        return 'end'
      },
    ],
    [
      'the promise of an async one',
      async () =>
        (async function* () {
          yield 1
          yield 2
          return 'end'
        })(),
    ],
    [
      'the promise of a sync one',
      async () =>
        (function* () {
          yield 1
          yield 2
          return 'end'
        })(),
    ],
  ])('%s', async (_, run) => {
    expect(await returning(run)).toEqual({
      status: 'ok',
      output: [{ type: 'text', text: 'end' }],
      progress: [1, 2],
    })
  })

  test('an error that it throws fails the call', async () => {
    const thrown = await returning(function* () {
      yield 1
      throw new Error('halfway')
    })
    expect(thrown).toMatchObject({
      status: 'failed',
      output: [{ text: 'The tool failed: halfway' }],
      progress: [1],
    })
  })
})
