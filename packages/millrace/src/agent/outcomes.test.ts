import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { ErrorCode, Outcome } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { collect, echo } from './agent.test-kit.ts'
import { agent } from './agent.ts'
import type { AgentOptions, RunOptions } from './options.ts'

// What each way to run an agent returns. The table in docs/reference/agents.md says the same.

const pay = tool({ name: 'pay', description: 'Pays', input: z.object({}), approve: true, run: () => 'paid' })

interface Case {
  readonly outcome: Outcome
  readonly round: ScriptRound
  readonly options?: Partial<AgentOptions>
  readonly run?: () => RunOptions
  /** The code of the result's error, if it has one. */
  readonly code?: ErrorCode
  readonly asked?: number
}

const cases: Readonly<Record<string, Case>> = {
  completed: { outcome: 'completed', round: 'Yes.' },
  'max-rounds': {
    outcome: 'max-rounds',
    round: [{ call: 'echo', input: { value: 'x' } }],
    options: { maxRounds: 0 },
  },
  truncated: { outcome: 'truncated', round: [{ text: 'Half' }, { finish: 'length' }] },
  suspended: { outcome: 'suspended', round: [{ call: 'pay' }] },
  canceled: {
    outcome: 'canceled',
    round: [{ text: 'I could go' }, { hang: true }],
    run: () => {
      const stop = new AbortController()
      setImmediate(() => stop.abort())
      return { signal: stop.signal }
    },
    code: 'stream_interrupted',
  },
  failed: { outcome: 'failed', round: [{ error: { code: 'auth', message: 'bad key' } }], code: 'auth' },
  'signal already aborted': {
    outcome: 'canceled',
    round: 'Never said.',
    run: () => ({ signal: AbortSignal.abort() }),
    code: 'stream_interrupted',
    asked: 0,
  },
}

describe.each(Object.entries(cases))(
  '%s',
  (_, { outcome, round, options, run = () => ({}), code, asked = 1 }) => {
    function make() {
      const model = scriptedModel([round])
      return { model, one: agent({ model, tools: [echo, pay], ...options }) }
    }
    const error = code === undefined ? undefined : expect.objectContaining({ code })

    test('run() rejects if the run failed, and resolves otherwise', async () => {
      const { one, model } = make()
      const ended = await one.run('go', run()).then(
        (result) => ({ resolved: result.outcome, error: result.error }),
        (error: unknown) => ({ rejected: true, error }),
      )
      expect(ended).toEqual(outcome === 'failed' ? { rejected: true, error } : { resolved: outcome, error })
      expect(model.requests).toHaveLength(asked)
    })

    test('stream().result resolves', async () => {
      const { one, model } = make()
      const result = await one.stream('go', run()).result
      expect({ outcome: result.outcome, error: result.error }).toEqual({ outcome, error })
      expect(result.approvals.map(({ name }) => name)).toEqual(outcome === 'suspended' ? ['pay'] : [])
      expect(model.requests).toHaveLength(asked)
    })

    test('iteration ends with a run-end, and never throws', async () => {
      const events = await collect(make().one.stream('go', run()))
      const end = events.at(-1)
      expect({ ...end }).toMatchObject({ type: 'run-end', outcome, ...(code && { error: { code } }) })
      expect('error' in (end ?? {})).toBe(code !== undefined)
      if (asked === 0) expect(events).toHaveLength(2)
    })
  },
)

describe('invalid input', () => {
  const invalidInput = expect.objectContaining({ code: 'invalid_input' })

  test.each<[string, unknown, unknown]>([
    ['an empty message', '', {}],
    ['an invalid run option', 'go', { maxRounds: -1 }],
    ['an empty message, with a signal that is aborted', '', { signal: AbortSignal.abort() }],
  ])('%s: run() rejects, and stream() throws', async (_, input, options) => {
    const model = scriptedModel([])
    const one = agent({ model })
    await expect(one.run(input as never, options as never)).rejects.toEqual(invalidInput)
    expect(() => one.stream(input as never, options as never)).toThrow(invalidInput)
    expect(model.requests).toEqual([])
  })

  test('invalid options: agent() throws', () => {
    expect(() => agent({ model: scriptedModel([]), maxRounds: -1 })).toThrow(invalidInput)
  })
})

describe('maxRounds: Infinity', () => {
  const rounds: ScriptRound[] = Array.from({ length: 30 }, (_, n) => [
    { call: 'echo', input: { value: `${n}` } },
  ])

  test.each<[string, Partial<AgentOptions>, RunOptions]>([
    ['of an agent', { maxRounds: Number.POSITIVE_INFINITY }, {}],
    ['of a run', { maxRounds: 1 }, { maxRounds: Number.POSITIVE_INFINITY }],
  ])('%s sets no limit', async (_, options, run) => {
    const model = scriptedModel([...rounds, 'Done.'])
    const running = agent({ model, tools: [echo], ...options }).stream('go', run)
    expect(await running.result).toMatchObject({ outcome: 'completed', rounds: 31, text: 'Done.' })
    // It must not be in the log: JSON has no Infinity.
    expect(JSON.stringify(await collect(running))).not.toContain('null')
  })

  test('a suspended run is resumed from its events', async () => {
    const model = scriptedModel([[{ call: 'pay' }], ...rounds, 'Done.'])
    const one = agent({ model, tools: [echo, pay], maxRounds: Number.POSITIVE_INFINITY })
    const events = JSON.parse(JSON.stringify(await collect(one.stream('go'))))
    const decisions = [{ callId: 'call_1', approved: true }]
    expect(await one.resume(events, { decisions }).result).toMatchObject({ outcome: 'completed', rounds: 32 })
  })
})
