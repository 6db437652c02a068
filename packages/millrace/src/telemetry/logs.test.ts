import { afterEach, describe, expect, test } from 'vitest'
import type { Agent, AgentOptions } from '../agent/index.ts'
import { agent } from '../agent/index.ts'
import type { Telemetry } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { linkTo } from '../threads/chaos-store.test-kit.ts'
import type { AppOptions } from '../threads/index.ts'
import { memoryStore, millrace } from '../threads/index.ts'
import { fails, needsApproval, recordedLogs, works } from './logs.test-kit.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

const usage = { inputTokens: 10, outputTokens: 3 }
const busy: ScriptRound = [{ error: { message: 'too much to do', code: 'overloaded', status: 529 } }]
const any = { number: expect.any(Number), text: expect.any(String) }

/** An agent whose runs are logged, and the recorded lines. */
function desk(rounds: readonly ScriptRound[], options: Partial<AgentOptions> = {}) {
  const kept = recordedLogs()
  const { telemetry } = kept
  const model = scriptedModel(rounds)
  const tools = [works, fails]
  return { ...kept, desk: agent({ name: 'desk', model, tools, retry: { baseMs: 1 }, telemetry, ...options }) }
}

describe('a run', () => {
  test('is one line when it ends, with its usage', async () => {
    const more = { cacheReadTokens: 8, cacheWriteTokens: 1, reasoningTokens: 2 }
    const { lines, desk: agent } = desk([
      [{ call: 'works' }, { call: 'works' }, { usage }],
      [{ text: 'Done.' }, { usage: { ...usage, ...more } }],
    ])
    const { runId } = await agent.stream('hi', { conversation: 'ticket 7' }).result
    expect(lines).toEqual([
      {
        level: 'info',
        message: 'run completed',
        fields: {
          agent: 'desk',
          run: runId,
          conversation: 'ticket 7',
          outcome: 'completed',
          rounds: 2,
          calls: 2,
          ms: any.number,
          models: ['scripted'],
          inputTokens: 20,
          outputTokens: 6,
          ...more,
          unknownPrices: 2,
        },
      },
    ])
  })

  test.each<[string, ScriptRound[], Partial<AgentOptions>]>([
    ['max-rounds', [[{ call: 'works' }], [{ call: 'works' }]], { maxRounds: 1 }],
    ['truncated', [[{ text: 'And so' }, { finish: 'length' }]], {}],
  ])('that ends as %s is logged as info with that outcome', async (outcome, rounds, options) => {
    const { lines, desk: agent } = desk(rounds, options)
    await agent.run('hi')
    expect(lines.at(-1)).toMatchObject({ level: 'info', message: `run ${outcome}`, fields: { outcome } })
  })

  test('that is canceled is one line: the model call that ends with it is not a failure', async () => {
    const { lines, desk: agent } = desk([[{ text: 'And so' }, { hang: true }]])
    const run = agent.stream('hi')
    for await (const event of run) if (event.type === 'text') run.cancel('enough')
    expect(lines).toMatchObject([
      {
        level: 'info',
        message: 'run canceled',
        fields: { rounds: 1, models: ['scripted'] },
      },
    ])
  })

  test('that times out is one line too', async () => {
    const { lines, desk: agent } = desk([[{ hang: true }]], { runMs: 20 })
    await agent.stream('hi').result
    expect(lines).toMatchObject([
      { level: 'error', message: 'run failed', fields: { code: 'timeout', op: 'agent.run' } },
    ])
  })

  test('that is suspended and the one that resumes it are logged with their own numbers', async () => {
    const { lines, desk: agent } = desk(
      [
        [{ call: 'careful', id: 'c' }, { usage }],
        [{ text: 'Done.' }, { usage }],
      ],
      { tools: [needsApproval] },
    )
    const first = agent.stream('hi')
    await first.result
    await first.resume({ callId: 'c', approved: true }).result
    expect(lines).toMatchObject([
      { level: 'info', message: 'run suspended', fields: { rounds: 1, calls: 0, inputTokens: 10 } },
      {
        level: 'info',
        message: 'run completed',
        fields: { rounds: 1, calls: 1, inputTokens: 10, resumes: first.id },
      },
    ])
  })

  test('names its trace, whichever telemetry provides it', async () => {
    const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    const tracing: Telemetry = {
      startRun: () => ({
        trace,
        event() {},
        modelCall: () => ({ end() {} }),
        runInContext: (_, work) => work(),
        nested: () => tracing,
        handedOver() {},
      }),
    }
    const { lines, telemetry } = recordedLogs()
    const rounds = [busy, [{ call: 'fails' }], 'Done.']
    await agent({
      model: scriptedModel(rounds),
      tools: [fails],
      retry: { baseMs: 1 },
      telemetry: [telemetry, tracing],
    }).run('hi')
    expect(lines.map(({ message }) => message)).toEqual([
      'model call failed',
      'tool call failed',
      'run completed',
    ])
    for (const { fields } of lines)
      expect(fields).toMatchObject({
        traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
        spanId: '00f067aa0ba902b7',
      })
  })
})

describe('a model call that fails', () => {
  test('is one line per attempt, with the delay before the retry', async () => {
    const { lines, desk: agent } = desk([busy, busy, 'Done.'])
    const { runId } = await agent.stream('hi').result
    const failure = (attempt: number) => ({
      level: 'warn',
      message: 'model call failed',
      fields: {
        agent: 'desk',
        run: runId,
        provider: 'scripted',
        model: 'scripted',
        round: 1,
        attempt,
        ms: any.number,
        code: 'overloaded',
        op: 'model.stream',
        httpStatus: 529,
        retryMs: any.number,
      },
    })
    expect(lines).toEqual([failure(1), failure(2), expect.objectContaining({ message: 'run completed' })])
  })

  test('for good has no retry delay, and its run fails', async () => {
    const { lines, desk: agent } = desk([[{ error: { message: 'no', code: 'auth', status: 401 } }]])
    await agent.stream('hi').result
    expect(lines).toMatchObject([
      { level: 'warn', message: 'model call failed', fields: { code: 'auth' } },
      {
        level: 'error',
        message: 'run failed',
        fields: { outcome: 'failed', code: 'auth', op: 'model.stream', httpStatus: 401 },
      },
    ])
    expect(lines[0]?.fields).not.toHaveProperty('retryMs')
  })

  test('names the fallback model that is tried next', async () => {
    const model = [scriptedModel([busy], { id: 'first' }), scriptedModel(['Done.'], { id: 'second' })]
    const { of, desk: agent } = desk([], { model, retry: { attempts: 1 } })
    await agent.run('hi')
    expect(of('model call failed')).toMatchObject([{ model: 'first', retryMs: 0, retryModel: 'second' }])
    expect(of('run completed')).toMatchObject([{ models: ['first', 'second'] }])
  })

  test('after a tool call has started is logged, and the round is kept', async () => {
    const { of, desk: agent } = desk([[{ call: 'works' }, ...(busy as [])], 'Done.'])
    await agent.run('hi')
    expect(of('model call failed')).toMatchObject([{ round: 1, code: 'overloaded' }])
    expect(of('run completed')).toMatchObject([{ rounds: 2, calls: 1 }])
  })

  test('outside of the rounds, for a summary, is marked as aside', async () => {
    const overflow: ScriptRound = [{ error: { message: 'long', code: 'context_overflow' } }]
    const { of, desk: agent } = desk([overflow, busy, 'A summary.', 'Done.'])
    await agent.run([
      { role: 'user', content: 'long ago' },
      { role: 'assistant', content: 'indeed '.repeat(2000) },
      { role: 'user', content: 'hi' },
    ])
    expect(of('model call failed')).toMatchObject([
      { aside: true, attempt: 1, code: 'overloaded' },
      { attempt: 1, code: 'context_overflow', retryMs: 0 },
    ])
    expect(of('run completed')).toHaveLength(1)
  })
})

describe('a tool call that fails', () => {
  test('is one line, and the run counts them', async () => {
    const {
      lines,
      of,
      desk: agent,
    } = desk([[{ call: 'fails', id: 'a' }, { call: 'works' }, { call: 'no_such_tool', id: 'b' }], 'Done.'])
    const { runId } = await agent.stream('hi').result
    const line = { agent: 'desk', run: runId, ms: any.number }
    expect(of('tool call failed').toSorted((a, b) => String(a.call).localeCompare(String(b.call)))).toEqual([
      { ...line, tool: 'fails', call: 'a', status: 'failed' },
      { ...line, tool: 'no_such_tool', call: 'b', status: 'rejected' },
    ])
    expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(2)
    expect(of('run completed')).toMatchObject([{ calls: 3, failedCalls: 2 }])
  })

  test('is not logged if a hook blocked it', async () => {
    const beforeCall = () => ({ block: 'not today' })
    const { lines, desk: agent } = desk([[{ call: 'works' }], 'Well then.'], { beforeCall })
    await agent.run('hi')
    expect(lines).toMatchObject([{ message: 'run completed', fields: { calls: 1 } }])
    expect(lines[0]?.fields).not.toHaveProperty('failedCalls')
  })

  test('is not logged if a person denied it', async () => {
    const { lines, desk: agent } = desk([[{ call: 'careful', id: 'c' }], 'Well then.'], {
      tools: [needsApproval],
    })
    const first = agent.stream('hi')
    await first.result
    await first.resume({ callId: 'c', approved: false }).result
    expect(lines.map(({ message }) => message)).toEqual(['run suspended', 'run completed'])
  })
})

describe('a sub-agent', () => {
  test('has its own lines, with its parent run and thread', async () => {
    const { lines, telemetry } = recordedLogs()
    const helper = agent({
      name: 'helper',
      model: scriptedModel([busy, [{ call: 'fails' }], 'Found.']),
      tools: [fails],
      retry: { baseMs: 1 },
    })
    const rounds: ScriptRound[] = [[{ call: 'helper', input: { prompt: 'look' } }], 'Done.']
    const boss = agent({
      name: 'boss',
      model: scriptedModel(rounds),
      tools: [helper.asTool({ description: 'Helps' })],
    })
    const app = millrace({ agents: boss, telemetry })
    open.push(app)
    const thread = app.thread('t')
    await thread.send('hi')
    for await (const _ of thread.follow({ until: 'idle' }));
    const parent = lines[3]
    expect(lines).toMatchObject([
      { message: 'model call failed', fields: { agent: 'helper', thread: 't' } },
      { message: 'tool call failed', fields: { agent: 'helper', tool: 'fails', thread: 't' } },
      { message: 'run completed', fields: { agent: 'helper', thread: 't', parent: parent?.fields.run } },
      { message: 'run completed', fields: { agent: 'boss', thread: 't', calls: 1 } },
    ])
    expect(parent?.fields).not.toHaveProperty('parent')
  })

  test('is canceled with a call that times out', async () => {
    const { lines, telemetry } = recordedLogs()
    const helper = agent({ name: 'helper', model: scriptedModel([[{ hang: true }]]) })
    const boss = agent({
      name: 'boss',
      model: scriptedModel([[{ call: 'helper', input: { prompt: 'look' } }], 'Well then.']),
      tools: [helper.asTool({ description: 'Helps', timeoutMs: 20 })],
      telemetry,
    })
    await boss.run('hi')
    expect(lines).toMatchObject([
      { level: 'info', message: 'run canceled', fields: { agent: 'helper', outcome: 'canceled' } },
      { level: 'warn', message: 'tool call failed', fields: { agent: 'boss', status: 'timeout' } },
      { level: 'info', message: 'run completed', fields: { agent: 'boss', failedCalls: 1 } },
    ])
  })

  test('is handed over with its parent run, and so are its own sub-agents', async () => {
    const { lines, telemetry } = recordedLogs()
    const called = Promise.withResolvers<void>()
    const model = scriptedModel(() => {
      called.resolve()
      return [{ hang: true }]
    })
    const delegating = (name: string, subAgent: Agent) =>
      agent({
        name,
        model: scriptedModel([[{ call: subAgent.name, input: { prompt: 'look' } }]]),
        tools: [subAgent.asTool({ description: 'Helps' })],
      })
    const boss = delegating('boss', delegating('helper', agent({ name: 'intern', model })))
    const app = millrace({ agents: boss, telemetry })
    await app.thread('t').send('hi')
    await called.promise
    await app.close({ graceMs: 0 })
    expect(lines).toMatchObject([
      { level: 'info', message: 'run handed-over', fields: { agent: 'intern', rounds: 1, calls: 0 } },
      { level: 'info', message: 'run handed-over', fields: { agent: 'helper', rounds: 1, calls: 0 } },
      { level: 'info', message: 'run handed-over', fields: { agent: 'boss', rounds: 1, calls: 0 } },
    ])
  })
})

describe('an app', () => {
  test('that takes over the run of a lost process logs the loss, and the other app logs the handover', async () => {
    let now = 1_000_000
    const leaseMs = 60_000
    const store = memoryStore({ now: () => now })
    const link = linkTo(store)
    const first = recordedLogs()
    const second = recordedLogs()
    const appOf = (options: Pick<AppOptions, 'store' | 'telemetry'>, rounds: () => ScriptRound) => {
      const app = millrace({
        agents: agent({ name: 'desk', model: scriptedModel(rounds) }),
        leaseMs,
        recoverMs: 10,
        ...options,
      })
      open.push(app)
      return app
    }
    const lost = appOf({ store: link.store, telemetry: first.telemetry }, () => [
      { text: 'And' },
      { hang: true },
    ])
    await lost.thread('t').send('hi')
    for await (const { event } of lost.thread('t').follow()) if (event.type === 'text') break
    link.freeze(2 ** 30)
    now += leaseMs + 1
    const thread = appOf({ store, telemetry: second.telemetry }, () => 'Done.').thread('t')
    for await (const _ of thread.follow({ until: 'idle' }));
    link.thaw()
    await lost.close({ graceMs: 0 })
    expect(first.lines).toMatchObject([
      { level: 'info', message: 'run handed-over', fields: { thread: 't', rounds: 1 } },
    ])
    expect(second.lines).toMatchObject([
      {
        level: 'info',
        message: 'run completed',
        fields: { thread: 't', losses: 1, resumes: first.lines[0]?.fields.run },
      },
    ])
  })

  test('logs background failures', async () => {
    const { lines, telemetry } = recordedLogs()
    const app = millrace({
      agents: agent({ name: 'desk', model: scriptedModel(['Done.']) }),
      telemetry,
      onError() {},
      context() {
        throw new Error('the secret of the context')
      },
    })
    open.push(app)
    const thread = app.thread('t')
    await thread.send('hi')
    for await (const _ of thread.follow({ until: 'idle' }));
    expect(lines).toEqual([
      { level: 'error', message: 'background failure', fields: { code: any.text, op: any.text } },
      expect.objectContaining({ level: 'error', message: 'run failed' }),
    ])
  })
})
