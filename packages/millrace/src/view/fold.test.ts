import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { sized } from '../../../../test/size.ts'
import { agent, tool } from '../index.ts'
import type { JsonValue, Message, ThreadEvent } from '../protocol/index.ts'
import { applyEntry as applyToThread, conversationOf, emptyThread } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
import type { App } from '../threads/index.ts'
import { millrace } from '../threads/index.ts'
import { heldTool, untilIdle } from '../threads/threads.test-kit.ts'
import { call, ends, fold, input, logOf, round, roundEnds, starts, text } from './fold.test-kit.ts'
import { applyEntry, statusOf, textOf } from './fold.ts'
import type { CallView, LogView, Row } from './types.ts'

const apps: App[] = []
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close({ graceMs: 0 })
})

/** The rows as one line each. */
function linesOf(rows: readonly Row[]): string[] {
  return rows.map((row) => {
    if (row.kind === 'input') return `input ${textOf(row.message)}`
    if (row.kind === 'call') return `call ${row.callId}`
    if (row.kind === 'notice') return `notice ${row.notice}`
    if (row.kind === 'end') return `end ${row.run.outcome}`
    return `${row.kind} ${row.text.pieces.join('')}`
  })
}

function onlyCall(log: LogView): CallView {
  const [only] = log.runs[0]?.calls ?? []
  if (!only) throw new Error('expected a call')
  return only
}

test('an input waits below the chat until a run reads it, and is placed where it was first read', () => {
  const log = logOf(input('Hello'), starts({ inputs: [1] }), round(1), text('Hi'), input('And now?', 'steer'))
  expect(linesOf(log.rows)).toEqual(['input Hello', 'text Hi'])
  expect(log.waiting.map(({ message }) => message.content)).toEqual(['And now?'])
  applyEntry(log, { seq: 6, at: 2000, event: roundEnds(1) })
  applyEntry(log, { seq: 7, at: 2001, event: round(2, [5]) })
  applyEntry(log, { seq: 8, at: 2002, event: text('Now this.') })
  expect(linesOf(log.rows)).toEqual(['input Hello', 'text Hi', 'input And now?', 'text Now this.'])
  expect(log.waiting).toEqual([])
  expect(log.runs[0]?.inputs).toHaveLength(2)
})

test('a run that does not know of rewinds reads its inputs in the order of the log', () => {
  const events: ThreadEvent[] = [
    input('One'),
    input('Two', 'interrupt'),
    { type: 'rewind', before: 2 },
    { type: 'rewind', before: 1 },
    starts({ inputs: [1, 2] }),
    round(1),
  ]
  const log = logOf(...events)
  expect(linesOf(log.rows)).toEqual(['input One', 'input Two'])
  const state = emptyThread()
  for (const [index, event] of events.entries()) applyToThread(state, { seq: index + 1, at: 1000, event })
  expect(conversationOf(state)).toEqual(log.runs[0]?.inputs.map(({ message }) => message))
})

test('a retracted round leaves one line in the chat, and stays in its run', () => {
  const inputStart: ThreadEvent = { type: 'tool-input-start', callId: 'c1', name: 'look' }
  const log = logOf(
    input('Hello'),
    starts({ inputs: [1] }),
    round(1),
    text('Half an ans'),
    inputStart,
    { type: 'round-retract', round: 1, reason: 'the stream broke' },
    round(1),
    text('A whole answer.'),
    roundEnds(1),
    ends(),
  )
  expect(linesOf(log.rows)).toEqual([
    'input Hello',
    'notice retract',
    'text A whole answer.',
    'end completed',
  ])
  expect(log.runs[0]?.rounds.map(({ retracted }) => retracted?.reason)).toEqual([
    'the stream broke',
    undefined,
  ])
  expect(onlyCall(log).raw.closed).toBe(true)
})

test('a call goes through its phases, each with its time', () => {
  const log = logOf(
    starts(),
    round(1),
    { type: 'tool-input-start', callId: 'c1', name: 'look' },
    { type: 'tool-input', callId: 'c1', delta: '{"id"' },
    { type: 'tool-input', callId: 'c1', delta: ':1}' },
    call('c1'),
    { type: 'tool-start', callId: 'c1', name: 'look', attempt: 1, input: { id: 2 } },
    { type: 'tool-progress', callId: 'c1', data: 'half' },
    roundEnds(1),
    {
      type: 'tool-result',
      callId: 'c1',
      name: 'look',
      output: [{ type: 'text', text: 'found' }],
      status: 'ok',
      isError: false,
      ms: 20,
      overlapMs: 10,
    },
  )
  const { createdAt, closedAt, startedAt, endedAt, raw, input, changedInput, progress, result } =
    onlyCall(log)
  expect([createdAt, closedAt, startedAt, endedAt]).toEqual([1020, 1050, 1060, 1090])
  expect(raw.pieces.join('')).toBe('{"id":1}')
  expect([input, changedInput, progress, result?.status]).toEqual([{ id: 1 }, { id: 2 }, ['half'], 'ok'])
  expect(log.runs[0]?.rounds[0]?.firstAt).toBe(1020)
})

test('joined text is dated from the entry before it', () => {
  const log = logOf(starts(), round(1))
  applyEntry(log, { seq: 9, from: 3, at: 1500, event: text('Seven pieces in one.') })
  applyEntry(log, { seq: 10, at: 1600, event: text(' And one more.') })
  expect(log.rows).toMatchObject([{ kind: 'text', at: 1010, endedAt: 1600 }])
})

test('a call whose arguments were never completed ends with its round', () => {
  const log = logOf(
    starts(),
    round(1),
    { type: 'tool-input-start', callId: 'c1', name: 'look' },
    roundEnds(1),
  )
  expect(onlyCall(log)).toMatchObject({ problem: expect.stringContaining('never finished'), endedAt: 1030 })
})

test('a provider tool ends with its round, whether or not it had an output', () => {
  const log = logOf(
    starts(),
    round(1),
    { type: 'provider-tool', callId: 'p1', name: 'search', input: { query: 'x' } },
    roundEnds(1),
  )
  expect(onlyCall(log)).toMatchObject({ state: 'ok', endedAt: 1030 })
  expect(onlyCall(log).problem).toBeUndefined()
})

test('a suspended run has no end in the chat, and is resumed as the same run', () => {
  const asks: ThreadEvent = { type: 'approval-request', callId: 'c1', name: 'look', input: { id: 1 } }
  const log = logOf(
    input('Pay'),
    starts({ inputs: [1] }),
    round(1),
    call('c1'),
    roundEnds(1),
    asks,
    ends('suspended'),
  )
  expect(linesOf(log.rows)).toEqual(['input Pay', 'call c1'])
  expect(statusOf(log)).toBe('waiting')
  applyEntry(log, {
    seq: 8,
    at: 90_000,
    event: { type: 'approval', callId: 'c1', approved: true, input: { id: 3 } },
  })
  applyEntry(log, { seq: 9, at: 90_001, event: starts({ resumes: 'run_1', runId: 'run_2' }) })
  expect(statusOf(log)).toBe('running')
  // The model is not being waited for while its call runs.
  expect(log.open.round?.end).toBeDefined()
  applyEntry(log, { seq: 10, at: 90_002, event: round(2) })
  applyEntry(log, { seq: 11, at: 90_003, event: ends() })
  expect(log.runs).toHaveLength(1)
  expect(log.runs[0]?.legs.map(({ runId, why }) => [runId, why])).toEqual([
    ['run_1', 'first'],
    ['run_2', 'person'],
  ])
  expect(onlyCall(log).approvals[0]).toMatchObject({ decidedAt: 90_000, decision: { input: { id: 3 } } })
  expect(linesOf(log.rows)).toEqual(['input Pay', 'call c1', 'end completed'])
  expect(log.runs[0]?.rounds[1]?.runId).toBe('run_2')
})

test('a run that was taken over from a lost process gets a notice', () => {
  const log = logOf(starts(), round(1), text('Half'), starts({ resumes: 'run_1', runId: 'run_2' }))
  expect(linesOf(log.rows)).toEqual(['text Half', 'notice taken-over'])
  expect(log.runs[0]?.legs).toMatchObject([{ endedAt: 1020 }, { why: 'lost' }])
})

test('inputs that wait when the thread is stopped are held', () => {
  const log = logOf(starts(), input('Later'), { type: 'stop', reason: 'enough' }, ends('canceled'))
  expect(log.waiting).toMatchObject([{ held: true }])
  expect(linesOf(log.rows)).toEqual(['end canceled'])
  expect(statusOf(log)).toBe('idle')
})

test('the work of a sub-agent is a view inside its call, and its approvals belong to that call', () => {
  const inner = (event: ThreadEvent): ThreadEvent => ({
    type: 'tool-progress',
    callId: 'c1',
    event: event as never,
  })
  const log = logOf(
    starts(),
    round(1),
    call('c1'),
    inner(starts()),
    inner(round(1)),
    inner(text('I look')),
    inner(text(' inside.')),
    inner(call('c7')),
    { type: 'approval-request', callId: 'c1/c7', name: 'look', input: { id: 1 } },
    { type: 'approval', callId: 'c1/c7', approved: false },
  )
  const only = onlyCall(log)
  expect(linesOf(only.inner?.rows ?? [])).toEqual(['text I look inside.', 'call c7'])
  expect(only.approvals).toMatchObject([{ request: { callId: 'c1/c7' }, decision: { approved: false } }])
})

test('a request that a resumed sub-agent repeats is shown once', () => {
  const asks = (id: string): ThreadEvent => ({
    type: 'approval-request',
    callId: `c1/${id}`,
    name: 'look',
    input: {},
  })
  const log = logOf(
    input('Look'),
    starts({ inputs: [1] }),
    round(1),
    call('c1'),
    asks('c7'),
    asks('c8'),
    { type: 'approval', callId: 'c1/c7', approved: true },
    asks('c8'),
    { type: 'approval', callId: 'c1/c8', approved: true },
  )
  expect(
    onlyCall(log).approvals.map(({ request, decision }) => [request.callId, decision?.approved]),
  ).toEqual([
    ['c1/c7', true],
    ['c1/c8', true],
  ])
})

test('a fork from the middle of a run is not shown as a lost process', () => {
  const log = logOf(
    input('Hello'),
    starts({ inputs: [1] }),
    round(1),
    text('Half'),
    { type: 'stop', reason: 'the thread was forked here' },
    starts({ resumes: 'run_1', runId: 'run_2' }),
  )
  expect(log.rows.filter(({ kind }) => kind === 'notice')).toEqual([])
})

test('everything shown gets a new version when it changes', () => {
  const log = logOf(starts(), round(1), text('Some'))
  const [row] = log.rows
  const versions = () => [log.version, row?.version, log.runs[0]?.version]
  const before = versions()
  applyEntry(log, { seq: 4, at: 1100, event: text(' more') })
  for (const [index, version] of versions().entries()) expect(version).toBeGreaterThan(before[index] ?? 0)
})

/** A conversation as the protocol folds it, one line for each row that the chat should have. */
function linesOfMessages(messages: readonly Message[]): string[] {
  return messages.flatMap((message): string[] => {
    if (message.role === 'user') return [`input ${textOf(message)}`]
    if (message.role !== 'assistant') return []
    return message.content.flatMap((part): string[] => {
      if (part.type === 'tool-call') return [`call ${part.callId}`]
      return part.type === 'text' ? [`text ${part.text}`] : []
    })
  })
}

const plans: ScriptRound[] = [
  'Only words.',
  [{ reasoning: 'Hm. ' }, { text: 'Calling. ' }, { call: 'hold' }, { text: ' and talking on' }],
  [{ call: 'pay' }, { call: 'hold' }],
  [{ text: 'Half an' }, { error: { code: 'stream_error', message: 'cut', retryable: true } }],
]

type Action = 'queue' | 'steer' | 'interrupt' | 'stop' | 'approve' | 'deny' | 'release' | 'wait'
const actionLists = fc.array(
  fc.constantFrom<Action>('queue', 'steer', 'interrupt', 'stop', 'approve', 'deny', 'release', 'wait'),
  { minLength: 2, maxLength: 10 },
)

test('the chat matches the conversation, whatever users do in the meantime', async () => {
  await fc.assert(
    fc.asyncProperty(
      actionLists,
      fc.array(fc.nat({ max: plans.length - 1 }), { minLength: 4, maxLength: 4 }),
      async (actions, order) => {
        const held = heldTool('hold')
        const pay = heldTool('pay', { approve: true })
        const model = scriptedModel((_, index) => plans[order[index] ?? -1] ?? 'The end.', {
          paceMs: 1,
          deltaChars: 6,
        })
        const app = millrace({
          agents: agent({ name: 'helper', model, tools: [held.tool, pay.tool], retry: { baseMs: 1 } }),
          flushMs: 0,
          recoverMs: 10,
        })
        apps.push(app)
        const thread = app.thread('t')
        const releaseAll = () => {
          for (const { release } of [...held.runs, ...pay.runs]) release()
        }
        const decide = async (approved: boolean) => {
          for (const { callId } of (await thread.state()).approvals)
            await thread.approve(callId, { approved }).catch(() => {})
        }
        await thread.send('start')
        for (const [index, action] of actions.entries()) {
          if (action === 'stop') await thread.stop()
          else if (action === 'release') releaseAll()
          else if (action === 'wait') await new Promise((resolve) => setTimeout(resolve, 3))
          else if (action === 'approve' || action === 'deny') await decide(action === 'approve')
          else await thread.send(`message ${index}`, { mode: action })
        }
        await thread.stop()
        await untilIdle(thread)
        // A run that was about to start when the thread was stopped still starts, and ends at once.
        await expect.poll(async () => (await thread.info()).status).toBe('idle')
        const entries = await thread.read({ limit: 10_000, split: true })
        const state = emptyThread()
        for (const entry of entries) applyToThread(state, entry)
        const log = fold(entries)
        const shown = log.rows.filter(
          (row) =>
            row.kind === 'input' ||
            row.kind === 'text' ||
            (row.kind === 'call' && row.closedAt !== undefined),
        )
        expect(linesOf([...shown, ...log.waiting])).toEqual(linesOfMessages(conversationOf(state)))
        expect(linesOf(fold(await thread.read({ limit: 10_000 })).rows)).toEqual(linesOf(log.rows))
        await app.close({ graceMs: 0 })
      },
    ),
    { numRuns: sized(25) },
  )
})

test('the times of a tool call in a real run are in order', async () => {
  const look = tool({
    name: 'look',
    description: 'Looks',
    input: { jsonSchema: { type: 'object' } },
    run: () => 'seen',
  })
  const app = millrace({
    agents: agent({ name: 'a', model: scriptedModel([[{ call: 'look' }], 'Done.']), tools: [look] }),
  })
  apps.push(app)
  const thread = app.thread()
  await thread.send('Look')
  const log = fold(await untilIdle(thread))
  const { createdAt, closedAt = 0, startedAt = 0, endedAt = 0 } = onlyCall(log)
  expect([createdAt, closedAt, startedAt, endedAt].toSorted((a, b) => a - b)).toEqual([
    createdAt,
    closedAt,
    startedAt,
    endedAt,
  ])
  expect(statusOf(log)).toBe('idle')
})

test('the display of a call grows by what its events add, and is not that of its sub-agent', () => {
  const progress = (data: JsonValue): ThreadEvent => ({ type: 'tool-progress', callId: 'c1', data })
  const request = (callId: string, title: string): ThreadEvent => ({
    ...{ type: 'approval-request', callId, name: 'look', input: {} },
    display: { kind: 'edit', title },
  })
  const log = logOf(
    input('Hello'),
    starts({ inputs: [1] }),
    round(1),
    call('c1'),
    request('c1', 'Edit a'),
    request('c1/c2', 'Edit b'),
    progress({ display: { terminal: 't' } }),
    progress({ display: 'none' }),
    progress({ display: null, left: 3 }),
  )
  const { display, progress: reported, approvals } = onlyCall(log)
  expect(display).toEqual({ kind: 'edit', title: 'Edit a', terminal: 't' })
  expect(reported).toEqual([{ display: 'none' }, { display: null, left: 3 }])
  expect(approvals.map(({ request }) => request.display?.title)).toEqual(['Edit a', 'Edit b'])
})
