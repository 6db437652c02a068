import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import type { ErrorCode, ErrorFields } from './errors.ts'
import { invalidInput, isMillraceError, MillraceError, messageOf, toMillraceError } from './errors.ts'

const failure = (more: Partial<ErrorFields> = {}) =>
  new MillraceError({ op: 'model.stream', code: 'llm_error', message: 'no luck', ...more })

const thrower = (): never => {
  throw new Error('a getter that throws')
}

describe('MillraceError', () => {
  test('is an Error with the operation, the code and the provider data', () => {
    const cause = new Error('socket closed')
    const error = failure({ status: 503, retryAfterMs: 1500, retryable: true, cause })
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({
      name: 'MillraceError',
      op: 'model.stream',
      code: 'llm_error',
      message: 'no luck',
      retryable: true,
      status: 503,
      retryAfterMs: 1500,
    })
    expect(error.cause).toBe(cause)
    expect(String(error)).toBe('MillraceError: no luck')
  })

  test('has no cause property without a cause', () => {
    expect('cause' in failure()).toBe(false)
  })

  test.each<[ErrorCode, boolean]>([
    ['stream_error', true],
    ['rate_limit', true],
    ['overloaded', true],
    ['timeout', true],
    ['invalid_input', false],
    ['invalid_output', false],
    ['streaming_not_supported', false],
    ['stream_interrupted', false],
    ['llm_error', false],
    ['auth', false],
    ['context_overflow', false],
    ['tool_failed', false],
    ['hook_failed', false],
  ])('%s is retryable by default: %s', (code, retryable) => {
    expect(failure({ code }).retryable).toBe(retryable)
  })

  test('an explicit retryable overrides the default of the code', () => {
    expect(failure({ code: 'timeout', retryable: false }).retryable).toBe(false)
    expect(failure({ code: 'llm_error', retryable: true }).retryable).toBe(true)
  })
})

describe('the JSON form', () => {
  test('has every field that is set, and the cause as its message', () => {
    const error = failure({ status: 429, retryAfterMs: 20, cause: new Error('too fast') })
    expect(JSON.parse(JSON.stringify(error))).toStrictEqual({
      op: 'model.stream',
      code: 'llm_error',
      message: 'no luck',
      retryable: false,
      status: 429,
      retryAfterMs: 20,
      cause: 'too fast',
    })
  })

  test('leaves out what is not set', () => {
    expect(Object.keys(failure().toJSON())).toEqual(['op', 'code', 'message', 'retryable'])
  })

  test('is always valid JSON, whatever the cause is', () => {
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withNullPrototype: true, withSparseArray: true }),
        (cause) => {
          const json = failure({ cause }).toJSON()
          expect(JSON.parse(JSON.stringify(json))).toStrictEqual(json)
        },
      ),
    )
  })

  test('can be read back to the same error', () => {
    const error = failure({ code: 'rate_limit', retryable: false, status: 429, retryAfterMs: 0, cause: 'x' })
    const back = MillraceError.fromJSON(JSON.parse(JSON.stringify(error)))
    expect(back).toBeInstanceOf(MillraceError)
    expect(back.toJSON()).toStrictEqual(error.toJSON())
  })
})

describe('isMillraceError', () => {
  test('is true only for a MillraceError', () => {
    expect(isMillraceError(failure())).toBe(true)
    for (const other of [new Error('x'), failure().toJSON(), 'MillraceError', null, undefined, 0, {}])
      expect(isMillraceError(other)).toBe(false)
  })

  test('is true for an error of a second copy of the package', async () => {
    vi.resetModules()
    const second = await import('./errors.ts')
    const theirs = new second.MillraceError({ op: 'x', code: 'auth', message: 'no' })
    expect(theirs).not.toBeInstanceOf(MillraceError)
    expect(isMillraceError(theirs)).toBe(true)
    const ours = toMillraceError(theirs, { op: 'y', code: 'llm_error' })
    expect(ours).toBeInstanceOf(MillraceError)
    expect(ours).toMatchObject({ op: 'x', code: 'auth', message: 'no', cause: theirs })
  })
})

describe('toMillraceError', () => {
  test('returns a MillraceError unchanged', () => {
    const error = failure()
    expect(toMillraceError(error, { op: 'other', code: 'timeout' })).toBe(error)
  })

  test('wraps anything else, with its message and as the cause', () => {
    const thrown = new TypeError('x is not a function')
    const error = toMillraceError(thrown, { op: 'tool.run', code: 'stream_error' })
    expect(error).toMatchObject({ op: 'tool.run', code: 'stream_error', retryable: true })
    expect(error.message).toBe('x is not a function')
    expect(error.cause).toBe(thrown)
  })

  test.each([[null], [undefined], [0], [''], ['words'], [Symbol('s')], [10n]])('accepts %s', (it) => {
    const error = toMillraceError(it, { op: 'o', code: 'llm_error' })
    expect(error.code).toBe('llm_error')
    expect(typeof error.message).toBe('string')
  })
})

describe('messageOf', () => {
  test.each<[string, unknown, string]>([
    ['an error', new Error('broke'), 'broke'],
    ['an error without a message', new RangeError(), 'RangeError'],
    ['a string', 'broke', 'broke'],
    ['an object with a message', { message: 'broke' }, 'broke'],
    ['an object with an empty message and no name', { message: '' }, 'error'],
    ['an object without a message', { status: 500 }, '{"status":500}'],
    ['null', null, 'null'],
    ['undefined', undefined, 'undefined'],
    ['a number', 404, '404'],
    ['a symbol', Symbol('gone'), 'Symbol(gone)'],
  ])('%s: its message', (_, thrown, message) => {
    expect(messageOf(thrown)).toBe(message)
  })

  test('returns "unknown error" for values that throw when read', () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    const cycle: Record<string, unknown> = {}
    cycle.self = cycle
    const hostile = [
      Object.defineProperty(new Error('x'), 'message', { get: thrower }),
      { message: '', name: { toString: thrower } },
      { toJSON: thrower },
      new Proxy({}, { get: thrower }),
      proxy,
      cycle,
    ]
    for (const thrown of hostile) expect(messageOf(thrown)).toBe('unknown error')
  })

  test('returns a string for anything', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withNullPrototype: true }), (thrown) => {
        expect(typeof messageOf(thrown)).toBe('string')
      }),
    )
  })
})

test('invalidInput names the operation and is never retried', () => {
  const cause = new Error('why')
  const error = invalidInput('agent.stream', 'tools must be an array', cause)
  expect(error).toMatchObject({ op: 'agent.stream', code: 'invalid_input', retryable: false, cause })
})
