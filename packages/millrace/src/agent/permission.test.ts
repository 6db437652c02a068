import { permission } from '@millrace/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { RunEvent } from '../protocol/index.ts'
import type { ScriptStep } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
import type { Access, PermissionMemory, Policy } from '../tools/index.ts'
import { tool } from '../tools/index.ts'
import { collect, of } from './agent.test-kit.ts'
import { agent } from './agent.ts'

const written: string[] = []

/** Touches the given paths, and calls checkAccess() for some of them while it runs. */
const write = tool({
  name: 'write',
  description: 'Writes a file',
  input: z.object({ path: z.string(), really: z.string().optional() }),
  access: ({ path }) => [{ kind: 'write', path }],
  run: async ({ path, really = path }, { checkAccess }) => {
    const denial = await checkAccess({ kind: 'write', path: really })
    if (denial) throw new Error(denial)
    written.push(really)
    return 'written'
  },
})

function asking(policy: Policy, ...inputs: { path: string; really?: string }[]) {
  written.length = 0
  const model = scriptedModel([
    inputs.map((input): ScriptStep => ({ call: 'write', input })),
    'Done.',
    'Done.',
  ])
  return agent({ model, tools: [write], permission: policy })
}

const results = (events: readonly RunEvent[]) => of(events, 'tool-result')

describe('the rules of an agent', () => {
  test('allow a call, and the log has the rule', async () => {
    const events = await collect(
      asking(permission({ allow: ['write(src/**)'] }), { path: 'src/a' }).stream('go'),
    )
    expect(of(events, 'tool-start')).toMatchObject([
      { permission: { decision: 'allow', rule: 'allow write(src/**)' } },
    ])
    expect(written).toEqual(['src/a'])
  })

  test('deny a call: the model reads why, the log has the rule, and no approval is requested', async () => {
    const policy = permission({ allow: ['write'], deny: ['write(.env)'] })
    const events = await collect(asking(policy, { path: '.env' }).stream('go'))
    expect(results(events)).toMatchObject([
      {
        status: 'blocked',
        isError: true,
        permission: { decision: 'deny', rule: 'deny write(.env)' },
        output: [{ text: expect.stringMatching(/^Not run: .*\.env/) }],
      },
    ])
    expect(of(events, 'tool-start')).toEqual([])
    expect(of(events, 'run-end')).toMatchObject([{ outcome: 'completed' }])
    expect(written).toEqual([])
  })

  test('require approval, and the request says what can be remembered', async () => {
    const run = asking(permission({}), { path: 'a' }).stream('go')
    const { approvals, outcome } = await run.result
    expect(outcome).toBe('suspended')
    expect(approvals).toMatchObject([
      {
        name: 'write',
        reason: expect.stringContaining('a'),
        permission: { decision: 'ask', rule: 'otherwise ask' },
        remember: { rules: ['write(a)'], for: ['thread'] },
      },
    ])
    await run.resume({ callId: 'call_1', approved: true }).result
    expect(written).toEqual(['a'])
  })

  test('are checked again after the decision: a call that is denied by then does not run', async () => {
    let denying = false
    const policy: Policy = {
      memory: undefined,
      decide: () => ({ decision: denying ? 'deny' : 'ask', rule: 'mood', reason: 'so it is' }),
    }
    const run = asking(policy, { path: 'a' }).stream('go')
    await run.result
    denying = true
    const events = await collect(run.resume({ callId: 'call_1', approved: true }))
    expect(results(events)).toMatchObject([{ status: 'blocked', permission: { rule: 'mood' } }])
    expect(written).toEqual([])
  })

  test('that throw allow nothing', async () => {
    const policy: Policy = {
      memory: undefined,
      decide: () => {
        throw new Error('no rules today')
      },
    }
    const events = await collect(asking(policy, { path: 'a' }).stream('go'))
    expect(results(events)).toMatchObject([
      { status: 'failed', output: [{ text: expect.stringContaining('no rules today') }] },
    ])
    expect(written).toEqual([])
  })

  test('are not checked for calls that could not run anyway', async () => {
    const asked: string[] = []
    const policy: Policy = {
      memory: undefined,
      decide: ({ name }) => {
        asked.push(name)
        return { decision: 'allow', rule: 'all', reason: '' }
      },
    }
    const model = scriptedModel([
      [
        { call: 'write', input: { nope: 1 } },
        { call: 'unknown', input: {} },
      ],
      'Done.',
    ])
    await agent({ model, tools: [write], permission: policy }).run('go')
    expect(asked).toEqual([])
  })

  test('must be created with permission()', () => {
    const make = () => agent({ model: scriptedModel([]), permission: { allow: [] } as never })
    expect(make).toThrow(/permission.*must be created with permission\(/)
  })
})

describe('checkAccess()', () => {
  test('checks what a call discovers while it runs', async () => {
    const policy = permission({ allow: ['write(a)'], deny: ['write(secret)'] })
    const events = await collect(asking(policy, { path: 'a', really: 'secret' }).stream('go'))
    expect(results(events)).toMatchObject([
      { status: 'failed', output: [{ text: expect.stringContaining('secret') }] },
    ])
    expect(written).toEqual([])
  })

  test('rejects what would need approval, and tells the model how to request it', async () => {
    const events = await collect(
      asking(permission({ allow: ['write(a)'] }), { path: 'a', really: 'b' }).stream('go'),
    )
    expect(results(events)).toMatchObject([
      { status: 'failed', output: [{ text: expect.stringMatching(/a person has to approve this first/) }] },
    ])
  })

  test('the approval of a folder includes its content and nothing else', async () => {
    const decisions = [{ callId: 'call_1', approved: true }]
    for (const [really, writes] of [
      ['src/a', true],
      ['srcs', false],
      ['/src/a', false],
    ] as const) {
      const run = asking(permission({}), { path: 'src', really }).stream('go')
      await run.result
      await run.resume(decisions).result
      expect(written).toEqual(writes ? [really] : [])
    }
  })

  test('a call whose accesses changed since the approval is not run', async () => {
    let target = 'a'
    const link = tool({
      name: 'link',
      description: 'Writes where a link leads',
      input: z.object({}),
      access: (): Access[] => [{ kind: 'write', path: target }],
      run: () => 'written',
    })
    const model = scriptedModel([[{ call: 'link', input: {} }], 'Done.'])
    const run = agent({ model, tools: [link], permission: permission({}) }).stream('go')
    await run.result
    target = 'b'
    const events = await collect(run.resume({ callId: 'call_1', approved: true }))
    expect(results(events)).toMatchObject([
      { status: 'blocked', output: [{ text: expect.stringMatching(/has changed since it was approved/) }] },
    ])
  })
})

test('a call that ran without approval is not repeated if it would need approval now', async () => {
  let target = 'a'
  let runs = 0
  const link = tool({
    name: 'link',
    description: 'Writes where a link leads',
    input: z.object({}),
    repeat: 'safe',
    access: (): Access[] => [{ kind: 'write', path: target }],
    run: () => `written ${++runs} times`,
  })
  const writer = () =>
    agent({
      model: scriptedModel([[{ call: 'link', input: {} }], 'Done.'].slice(runs)),
      tools: [link],
      permission: permission({ allow: ['write(a)'] }),
    })
  const events = await collect(writer().stream('go'))
  // The log as if its process had died while the call ran.
  const log = events.slice(0, events.findIndex(({ type }) => type === 'tool-start') + 1)
  expect(results(await collect(writer().resume(log)))).toMatchObject([{ status: 'ok' }])
  target = 'b'
  expect(results(await collect(writer().resume(log)))).toMatchObject([
    { status: 'blocked', output: [{ text: expect.stringMatching(/needs approval now.*`b`/) }] },
  ])
  expect(runs).toBe(2)
})

describe('remembering', () => {
  const twice = () => {
    written.length = 0
    const call = { call: 'write', input: { path: 'a' } }
    return scriptedModel([[call], [call], 'Done.'])
  }

  test('an approval without remember applies once', async () => {
    const run = agent({ model: twice(), tools: [write], permission: permission({}) }).stream('go')
    await run.result
    const next = run.resume({ callId: 'call_1', approved: true })
    expect((await next.result).outcome).toBe('suspended')
  })

  test('for the thread: the same call is allowed from then on, and the log says why', async () => {
    const run = agent({ model: twice(), tools: [write], permission: permission({}) }).stream('go')
    await run.result
    const events = await collect(run.resume({ callId: 'call_1', approved: true, remember: 'thread' }))
    expect(of(events, 'approval')).toMatchObject([{ remember: { for: 'thread', rules: ['write(a)'] } }])
    expect(of(events, 'tool-start')[1]).toMatchObject({
      permission: { decision: 'allow', rule: 'allowed in this thread: write(a)' },
    })
    expect(written).toEqual(['a', 'a'])
  })

  test('a remembered rule approves matching open requests, and nothing else', async () => {
    const run = asking(permission({}), { path: 'a' }, { path: 'b' }, { path: 'a' }).stream('go')
    expect((await run.result).approvals).toHaveLength(3)
    const next = run.resume({ callId: 'call_1', approved: true, remember: 'thread' })
    const events = await collect(next)
    expect(of(events, 'approval')).toMatchObject([
      { callId: 'call_1', remember: { for: 'thread' } },
      { callId: 'call_3', approved: true },
    ])
    expect((await next.result).approvals.map(({ callId }) => callId)).toEqual(['call_2'])
    expect(written).toEqual(['a', 'a'])
  })

  test('a tool with `approve` needs approval each time, whatever the rules are', async () => {
    const both = tool({
      name: 'write',
      description: 'x',
      input: z.object({}),
      approve: true,
      access: () => [{ kind: 'write', path: 'a' }],
      run: () => 1,
    })
    const model = scriptedModel([[{ call: 'write', input: {} }]])
    const run = agent({ model, tools: [both], permission: permission({}) }).stream('go')
    const [request] = (await run.result).approvals
    expect(request).toMatchObject({ permission: { decision: 'ask' } })
    expect(request).not.toHaveProperty('remember')
  })

  test('custom rules can be remembered if they are valid', async () => {
    const run = agent({ model: twice(), tools: [write], permission: permission({}) }).stream('go')
    await run.result
    const decision = (rules: string[]) =>
      [{ callId: 'call_1', approved: true, remember: { for: 'thread', rules } }] as const
    expect(() => run.resume(decision(['write(']))).toThrow(/cannot be remembered: .*write\(/)
    expect(() => run.resume(decision([]))).toThrow(/must be a non-empty list of strings/)
    expect((await run.resume(decision(['write(*)'])).result).outcome).toBe('completed')
  })

  test('always: needs a memory, and rules are saved there before the call runs', async () => {
    const kept: string[] = []
    const memory: PermissionMemory = {
      rules: () => kept,
      async add(rules) {
        expect(written).toEqual([])
        kept.push(...rules)
      },
    }
    const bare = agent({ model: twice(), tools: [write], permission: permission({}) }).stream('go')
    await bare.result
    const always = { callId: 'call_1', approved: true, remember: 'always' } as const
    expect(() => bare.resume(always)).toThrow(/has no memory; use 'thread'/)

    const keeping = permission({ memory })
    const run = agent({ model: twice(), tools: [write], permission: keeping }).stream('go')
    expect((await run.result).approvals).toMatchObject([{ remember: { for: ['thread', 'always'] } }])
    await run.resume(always).result
    expect(kept).toEqual(['write(a)'])
    // A new conversation.
    const other = await collect(agent({ model: twice(), tools: [write], permission: keeping }).stream('go'))
    expect(of(other, 'tool-start')[0]).toMatchObject({ permission: { rule: 'always allowed: write(a)' } })
  })

  test('a call is not run if its approval cannot be saved', async () => {
    const memory: PermissionMemory = {
      rules: () => [],
      add: () => Promise.reject(new Error('the disk is full')),
    }
    const run = agent({ model: twice(), tools: [write], permission: permission({ memory }) }).stream('go')
    await run.result
    const events = await collect(run.resume({ callId: 'call_1', approved: true, remember: 'always' }))
    expect(results(events)[0]).toMatchObject({
      status: 'failed',
      output: [{ text: expect.stringContaining('the disk is full') }],
    })
  })

  test.each([
    [{ approved: false, remember: 'thread' }, /only an approval can be remembered/],
    [{ approved: true, remember: 'for ever' }, /remember must be 'thread', 'always'/],
  ])('rejects %j', async (answer, message) => {
    const run = agent({ model: twice(), tools: [write], permission: permission({}) }).stream('go')
    await run.result
    expect(() => run.resume([{ callId: 'call_1', ...answer } as never])).toThrow(message)
  })

  test('an approval that the tool requires cannot be remembered', async () => {
    const cautious = tool({
      name: 'write',
      description: 'x',
      input: z.object({}),
      approve: true,
      run: () => 1,
    })
    const run = agent({ model: scriptedModel([[{ call: 'write', input: {} }]]), tools: [cautious] }).stream(
      'go',
    )
    await run.result
    expect(() => run.resume({ callId: 'call_1', approved: true, remember: 'thread' })).toThrow(
      /the approval of 'call_1' cannot be remembered: it was not requested/,
    )
  })
})

test('a call that must be reviewed each time cannot be remembered, and the error says so', async () => {
  const guess = tool({
    name: 'guess',
    description: 'x',
    input: z.object({}),
    access: () => [{ kind: 'write', path: '$FILE', opaque: true }],
    run: () => 1,
  })
  const model = scriptedModel([[{ call: 'guess', input: {} }]])
  const run = agent({ model, tools: [guess], permission: permission({}) }).stream('go')
  await run.result
  expect(() => run.resume({ callId: 'call_1', approved: true, remember: 'thread' })).toThrow(
    /the approval of 'call_1' cannot be remembered, since this call must be reviewed each time: decide without remember/,
  )
})

describe('a sub-agent', () => {
  /** A chief that delegates everything, and a worker that writes. */
  function office({ chief, worker }: { chief?: Policy; worker?: Policy }, path = 'a') {
    written.length = 0
    const call = { call: 'write', input: { path } }
    const subAgent = agent({
      name: 'worker',
      model: scriptedModel([[call], [call], 'Written.']),
      tools: [write],
      permission: worker,
    })
    return agent({
      model: scriptedModel([[{ call: 'worker', input: { prompt: 'write' } }], 'Done.']),
      tools: [subAgent.asTool({ description: 'Writes' })],
      permission: chief,
    })
  }
  const insideOf = (events: readonly RunEvent[]) =>
    of(events, 'tool-progress').flatMap(({ event }) => (event?.type === 'tool-result' ? [event] : []))

  test('never has more permissions than its parent', async () => {
    const chief = permission({ deny: ['write'] })
    const events = await collect(office({ chief, worker: permission({ allow: ['write'] }) }).stream('go'))
    expect(insideOf(events)[0]).toMatchObject({ status: 'blocked', permission: { rule: 'deny write' } })
    expect(written).toEqual([])
  })

  test('may have fewer permissions', async () => {
    const worker = permission({ deny: ['write(a)'] })
    const events = await collect(office({ chief: permission({ allow: ['write'] }), worker }).stream('go'))
    expect(insideOf(events)[0]).toMatchObject({ permission: { rule: 'deny write(a)' } })
    expect(written).toEqual([])
  })

  test('without its own rules follows those of its parents', async () => {
    await office({ chief: permission({ mode: 'read-only' }) }).run('go')
    expect(written).toEqual([])
  })

  test('requests approval at the top, and remembered rules apply inside', async () => {
    const run = office({ chief: permission({}), worker: permission({}) }).stream('go')
    expect((await run.result).approvals).toMatchObject([
      { callId: 'call_1/call_1', remember: { rules: ['write(a)'], for: ['thread'] } },
    ])
    const result = await run.resume({ callId: 'call_1/call_1', approved: true, remember: 'thread' }).result
    expect(result.outcome).toBe('completed')
    expect(written).toEqual(['a', 'a'])
  })

  test('needs no approval for remembered rules, also if only the sub-agent has rules', async () => {
    const subAgent = agent({
      name: 'worker',
      model: scriptedModel(({ messages }) =>
        messages.at(-1)?.role === 'tool' ? 'Written.' : [{ call: 'write', input: { path: 'a' } }],
      ),
      tools: [write],
      permission: permission({}),
    })
    const task = { call: 'worker', input: { prompt: 'write' } }
    const chief = agent({
      model: scriptedModel([[task], [{ ...task, input: { prompt: 'write again' } }], 'Done.']),
      tools: [subAgent.asTool({ description: 'Writes' })],
    })
    written.length = 0
    const run = chief.stream('go')
    await run.result
    const result = await run.resume({ callId: 'call_1/call_1', approved: true, remember: 'thread' }).result
    expect(result.outcome).toBe('completed')
    expect(written).toEqual(['a', 'a'])
  })

  test('needs no approval for its task: its own calls are checked', async () => {
    const events = await collect(office({ chief: permission({ allow: ['write'] }) }).stream('go'))
    expect(of(events, 'approval-request')).toEqual([])
    expect(written).toEqual(['a', 'a'])
  })
})
