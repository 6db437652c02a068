import { afterEach, describe, expect, test } from 'vitest'
import type { Agent, AgentOptions } from '../agent/index.ts'
import { agent } from '../agent/index.ts'
import type { Telemetry } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
import type { AppOptions } from '../threads/index.ts'
import { memoryStore, millrace } from '../threads/index.ts'
import { lineTo } from '../threads/storm-line.test-kit.ts'
import { careful, fails, keptLogs, works } from './logs.test-kit.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

const usage = { inputTokens: 10, outputTokens: 3 }
const busy: ScriptRound = [{ error: { message: 'too much to do', code: 'overloaded', status: 529 } }]
const any = { number: expect.any(Number), text: expect.any(String) }

/** Logs, and an agent that tells them of its runs. */
function desk(rounds: readonly ScriptRound[], options: Partial<AgentOptions> = {}) {
  const kept = keptLogs()
  const { telemetry } = kept
  const model = scriptedModel(rounds)
  const tools = [works, fails]
  return { ...kept, desk: agent({ name: 'desk', model, tools, retry: { baseMs: 1 }, telemetry, ...options }) }
}

describe('a run', () => {
  test('is one line when it is over, with what it took', async () => {
    const more = { cacheReadTokens: 8, cacheWriteTokens: 1, reasoningTokens: 2 }
    const { told, desk: agent } = desk([
      [{ call: 'works' }, { call: 'works' }, { usage }],
      [{ text: 'Done.' }, { usage: { ...usage, ...more } }],
    ])
    const { runId } = await agent.stream('hi', { conversation: 'ticket 7' }).result
    expect(told).toEqual([
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
        },
      },
    ])
  })

  test.each<[string, ScriptRound[], Partial<AgentOptions>]>([
    ['max-rounds', [[{ call: 'works' }], [{ call: 'works' }]], { maxRounds: 1 }],
    ['truncated', [[{ text: 'And so' }, { finish: 'length' }]], {}],
  ])('that came out as %s says so, and is no error', async (outcome, rounds, options) => {
    const { told, desk: agent } = desk(rounds, options)
    await agent.run('hi')
    expect(told.at(-1)).toMatchObject({ level: 'info', message: `run ${outcome}`, fields: { outcome } })
  })

  test('that somebody cancels is one line: the model call that ends with it has not failed', async () => {
    const { told, desk: agent } = desk([[{ text: 'And so' }, { hang: true }]])
    const run = agent.stream('hi')
    for await (const event of run) if (event.type === 'text') run.cancel('enough')
    expect(told).toMatchObject([
      {
        level: 'info',
        message: 'run cancelled',
        fields: { rounds: 1, models: ['scripted'] },
      },
    ])
  })

  test('that is out of time is one line as well', async () => {
    const { told, desk: agent } = desk([[{ hang: true }]], { runMs: 20 })
    await agent.stream('hi').result
    expect(told).toMatchObject([
      { level: 'error', message: 'run failed', fields: { code: 'timeout', op: 'agent.run' } },
    ])
  })

  test('that waits for a person is told, and so is the one that goes on with it, each with its own', async () => {
    const { told, desk: agent } = desk(
      [
        [{ call: 'careful', id: 'c' }, { usage }],
        [{ text: 'Done.' }, { usage }],
      ],
      { tools: [careful] },
    )
    const first = agent.stream('hi')
    await first.result
    await first.resume({ callId: 'c', approved: true }).result
    expect(told).toMatchObject([
      { level: 'info', message: 'run suspended', fields: { rounds: 1, calls: 0, inputTokens: 10 } },
      {
        level: 'info',
        message: 'run completed',
        fields: { rounds: 1, calls: 1, inputTokens: 10, resumes: first.id },
      },
    ])
  })

  test('names the trace it belongs to, wherever that is kept', async () => {
    const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    const tracing: Telemetry = {
      begin: () => ({
        trace,
        event() {},
        call: () => ({ end() {} }),
        within: (_, work) => work(),
        inside: () => tracing,
        abandoned() {},
      }),
    }
    const { told, telemetry } = keptLogs()
    const rounds = [busy, [{ call: 'fails' }], 'Done.']
    await agent({
      model: scriptedModel(rounds),
      tools: [fails],
      retry: { baseMs: 1 },
      telemetry: [telemetry, tracing],
    }).run('hi')
    expect(told.map(({ message }) => message)).toEqual([
      'model call failed',
      'tool call failed',
      'run completed',
    ])
    for (const { fields } of told)
      expect(fields).toMatchObject({
        traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
        spanId: '00f067aa0ba902b7',
      })
  })
})

describe('a model call that fails', () => {
  test('is a line each, with when it is sent again', async () => {
    const { told, desk: agent } = desk([busy, busy, 'Done.'])
    const { runId } = await agent.stream('hi').result
    const failed = (attempt: number) => ({
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
    expect(told).toEqual([failed(1), failed(2), expect.objectContaining({ message: 'run completed' })])
  })

  test('for good has no time to come, and its run fails', async () => {
    const { told, desk: agent } = desk([[{ error: { message: 'no', code: 'auth', status: 401 } }]])
    await agent.stream('hi').result
    expect(told).toMatchObject([
      { level: 'warn', message: 'model call failed', fields: { code: 'auth' } },
      {
        level: 'error',
        message: 'run failed',
        fields: { outcome: 'failed', code: 'auth', op: 'model.stream', httpStatus: 401 },
      },
    ])
    expect(told[0]?.fields).not.toHaveProperty('retryMs')
  })

  test('names the model that is asked next, where that is another', async () => {
    const model = [scriptedModel([busy], { id: 'first' }), scriptedModel(['Done.'], { id: 'second' })]
    const { of, desk: agent } = desk([], { model, retry: { attempts: 1 } })
    await agent.run('hi')
    expect(of('model call failed')).toMatchObject([{ model: 'first', retryMs: 0, retryModel: 'second' }])
    expect(of('run completed')).toMatchObject([{ models: ['first', 'second'] }])
  })

  test('after a call has begun is told, and the round stands', async () => {
    const { of, desk: agent } = desk([[{ call: 'works' }, ...(busy as [])], 'Done.'])
    await agent.run('hi')
    expect(of('model call failed')).toMatchObject([{ round: 1, code: 'overloaded' }])
    expect(of('run completed')).toMatchObject([{ rounds: 2, calls: 1 }])
  })

  test('beside the run, for a summary, is told as that', async () => {
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

describe('a tool call that goes wrong', () => {
  test('is a line each, and the run counts them', async () => {
    const {
      told,
      of,
      desk: agent,
    } = desk([[{ call: 'fails', id: 'a' }, { call: 'works' }, { call: 'unheard_of', id: 'b' }], 'Done.'])
    const { runId } = await agent.stream('hi').result
    const line = { agent: 'desk', run: runId, ms: any.number }
    expect(of('tool call failed').toSorted((a, b) => String(a.call).localeCompare(String(b.call)))).toEqual([
      { ...line, tool: 'fails', call: 'a', status: 'failed' },
      { ...line, tool: 'unheard_of', call: 'b', status: 'rejected' },
    ])
    expect(told.filter(({ level }) => level === 'warn')).toHaveLength(2)
    expect(of('run completed')).toMatchObject([{ calls: 3, failedCalls: 2 }])
  })

  test('is no line where a hook said no', async () => {
    const beforeCall = () => ({ block: 'not today' })
    const { told, desk: agent } = desk([[{ call: 'works' }], 'Well then.'], { beforeCall })
    await agent.run('hi')
    expect(told).toMatchObject([{ message: 'run completed', fields: { calls: 1 } }])
    expect(told[0]?.fields).not.toHaveProperty('failedCalls')
  })

  test('is no line where a person said no', async () => {
    const { told, desk: agent } = desk([[{ call: 'careful', id: 'c' }], 'Well then.'], { tools: [careful] })
    const first = agent.stream('hi')
    await first.result
    await first.resume({ callId: 'c', approved: false }).result
    expect(told.map(({ message }) => message)).toEqual(['run suspended', 'run completed'])
  })
})

describe('a sub-agent', () => {
  test('has lines of its own, with who asked it and where', async () => {
    const { told, telemetry } = keptLogs()
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
    const above = told[3]
    expect(told).toMatchObject([
      { message: 'model call failed', fields: { agent: 'helper', thread: 't' } },
      { message: 'tool call failed', fields: { agent: 'helper', tool: 'fails', thread: 't' } },
      { message: 'run completed', fields: { agent: 'helper', thread: 't', parent: above?.fields.run } },
      { message: 'run completed', fields: { agent: 'boss', thread: 't', calls: 1 } },
    ])
    expect(above?.fields).not.toHaveProperty('parent')
  })

  test('is cancelled with a call that runs out of time', async () => {
    const { told, telemetry } = keptLogs()
    const helper = agent({ name: 'helper', model: scriptedModel([[{ hang: true }]]) })
    const boss = agent({
      name: 'boss',
      model: scriptedModel([[{ call: 'helper', input: { prompt: 'look' } }], 'Well then.']),
      tools: [helper.asTool({ description: 'Helps', timeoutMs: 20 })],
      telemetry,
    })
    await boss.run('hi')
    expect(told).toMatchObject([
      { level: 'info', message: 'run cancelled', fields: { agent: 'helper', outcome: 'cancelled' } },
      { level: 'warn', message: 'tool call failed', fields: { agent: 'boss', status: 'timeout' } },
      { level: 'info', message: 'run completed', fields: { agent: 'boss', failedCalls: 1 } },
    ])
  })

  test('goes on elsewhere with the run that asked it, and so does what it asked itself: nobody cancelled them', async () => {
    const { told, telemetry } = keptLogs()
    const asked = Promise.withResolvers<void>()
    const model = scriptedModel(() => {
      asked.resolve()
      return [{ hang: true }]
    })
    const asking = (name: string, below: Agent) =>
      agent({
        name,
        model: scriptedModel([[{ call: below.name, input: { prompt: 'look' } }]]),
        tools: [below.asTool({ description: 'Helps' })],
      })
    const boss = asking('boss', asking('helper', agent({ name: 'intern', model })))
    const app = millrace({ agents: boss, telemetry })
    await app.thread('t').send('hi')
    await asked.promise
    await app.close({ graceMs: 0 })
    expect(told).toMatchObject([
      { level: 'info', message: 'run handed-over', fields: { agent: 'intern', rounds: 1, calls: 0 } },
      { level: 'info', message: 'run handed-over', fields: { agent: 'helper', rounds: 1, calls: 0 } },
      { level: 'info', message: 'run handed-over', fields: { agent: 'boss', rounds: 1, calls: 0 } },
    ])
  })
})

describe('an app', () => {
  test('that takes over the run of a process that is gone tells what was lost; the other that it is not its own', async () => {
    let now = 1_000_000
    const leaseMs = 60_000
    const store = memoryStore({ now: () => now })
    const line = lineTo(store)
    const first = keptLogs()
    const second = keptLogs()
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
    const lost = appOf({ store: line.store, telemetry: first.telemetry }, () => [
      { text: 'And' },
      { hang: true },
    ])
    await lost.thread('t').send('hi')
    for await (const { event } of lost.thread('t').follow()) if (event.type === 'text') break
    line.freeze(2 ** 30)
    now += leaseMs + 1
    const thread = appOf({ store, telemetry: second.telemetry }, () => 'Done.').thread('t')
    for await (const _ of thread.follow({ until: 'idle' }));
    line.thaw()
    await lost.close({ graceMs: 0 })
    expect(first.told).toMatchObject([
      { level: 'info', message: 'run handed-over', fields: { thread: 't', rounds: 1 } },
    ])
    expect(second.told).toMatchObject([
      {
        level: 'info',
        message: 'run completed',
        fields: { thread: 't', losses: 1, resumes: first.told[0]?.fields.run },
      },
    ])
  })

  test('tells what goes wrong in the background', async () => {
    const { told, telemetry } = keptLogs()
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
    expect(told).toEqual([
      { level: 'error', message: 'background failure', fields: { code: any.text, op: any.text } },
      expect.objectContaining({ level: 'error', message: 'run failed' }),
    ])
  })
})
