import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { expect, expectTypeOf, test } from 'vitest'
import {
  type AgentOptions,
  agent,
  agentDefaults,
  type Budget,
  type ContextUse,
  type Limits,
  type Outcome,
  type RunEvent,
  type RunOptions,
  type RunResult,
  type ToolContext,
  type TotalCost,
  tool,
} from '../packages/millrace/src/index.ts'
import { script, scriptedModel } from '../packages/millrace/src/testing/index.ts'
import { root } from './root.ts'

/** The cells of the first table after a line of a document. */
function tableAfter(line: string, doc: string): readonly (readonly string[])[] {
  const lines = readFileSync(join(root, doc), 'utf8').split('\n')
  const from = lines.findIndex((text) => text.startsWith(line))
  const start = lines.findIndex((text, index) => index > from && text.startsWith('|'))
  expect(from, `${doc} has a line that starts with '${line}'`).toBeGreaterThan(0)
  const rows: string[][] = []
  for (let at = start + 2; lines[at]?.startsWith('|'); at++)
    rows.push(
      (lines[at] ?? '')
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
  return rows
}

/** The names in a cell such as `` `a`, `b(c)`, `d-e` ``. */
const namesIn = (cell = '') => [...cell.matchAll(/`([\w-]+)/g)].map(([, name]) => name ?? '')

/** Every name of a type, which the compiler checks. */
const namesOf = <Name extends string>(names: Readonly<Record<Name, true>>) => Object.keys(names).sort()
const firstNames = (rows: readonly (readonly string[])[]) => rows.flatMap(([cell]) => namesIn(cell)).sort()

test('a tool gets the context that docs/reference/tools.md lists, and nothing else', async () => {
  expectTypeOf<keyof ToolContext>().toEqualTypeOf<
    | 'signal'
    | 'runSignal'
    | 'checkAccess'
    | 'callId'
    | 'runId'
    | 'attempt'
    | 'idempotencyKey'
    | 'progress'
    | 'metadata'
    | 'updateMetadata'
    | 'spend'
    | 'commit'
    | 'context'
  >()
  const seen: string[] = []
  const look = tool({
    name: 'look',
    description: 'Reads its context',
    input: { jsonSchema: { type: 'object' }, validate: (value) => ({ value }) },
    run(_, context) {
      seen.push(...Object.keys(context))
      return 'seen'
    },
  })
  await agent({ model: scriptedModel(script.tool('look', {}, 'Done.')), tools: [look] }).run('go')
  const listed = tableAfter('`run` gets its own copy of the input, and a context:', 'docs/reference/tools.md')
  expect(firstNames(listed)).toEqual(seen.sort())
})

test('docs/reference/agents.md lists every option of an agent, with its default', () => {
  const options: Record<keyof AgentOptions, true> = {
    name: true,
    model: true,
    models: true,
    description: true,
    starters: true,
    requireStreaming: true,
    system: true,
    tools: true,
    maxRounds: true,
    output: true,
    maxCorrections: true,
    settings: true,
    toolChoice: true,
    retry: true,
    firstEventMs: true,
    idleMs: true,
    runMs: true,
    toolTimeoutMs: true,
    toolConcurrency: true,
    maxCallsPerRound: true,
    maxResultChars: true,
    maxOutputChars: true,
    repeatLimits: true,
    onToolError: true,
    maxContextTokens: true,
    compact: true,
    prices: true,
    budget: true,
    permission: true,
    prepareRound: true,
    beforeCall: true,
    afterCall: true,
    telemetry: true,
    clock: true,
  }
  const listed = tableAfter('Every option of `agent()`', 'docs/reference/agents.md').flatMap(
    ([names, defaults = '']) => {
      // Commas inside braces belong to one default.
      const values = defaults.split(/, (?![^{]*})/)
      return namesIn(names).map((name, index) => [name, (values[index] ?? '').replaceAll('`', '')] as const)
    },
  )
  expect(listed.map(([name]) => name).sort()).toEqual(Object.keys(options).sort())
  const read = (text: string) => (text === 'none' ? Number.POSITIVE_INFINITY : runInNewContext(`(${text})`))
  const shown = listed.filter(([name]) => name in agentDefaults).map(([name, text]) => [name, read(text)])
  expect(Object.fromEntries(shown)).toEqual(agentDefaults)
})

test('docs/reference/agents.md lists every option of a run and every field of its result', () => {
  const options = namesOf<keyof RunOptions>({
    context: true,
    signal: true,
    maxRounds: true,
    settings: true,
    toolChoice: true,
    tools: true,
    system: true,
    runMs: true,
    budget: true,
    conversation: true,
    metadata: true,
  })
  expect(firstNames(tableAfter('Options of a single run:', 'docs/reference/agents.md'))).toEqual(options)
  const fields = namesOf<keyof RunResult>({
    runId: true,
    outcome: true,
    finish: true,
    text: true,
    output: true,
    messages: true,
    approvals: true,
    usage: true,
    cost: true,
    context: true,
    rounds: true,
    limit: true,
    error: true,
  })
  const members = tableAfter('`agent.stream(input, options?)` starts', 'docs/reference/agents.md')
  const [, described] = members.find(([name]) => name === '`await run.result`') ?? []
  expect(namesIn(described).sort()).toEqual(fields)
})

test.each([
  ['docs/reference/agents.md', '## Outcomes'],
  ['docs/reference/agents.md', 'Only `failed` rejects'],
  ['docs/concepts.md', 'ends with an outcome:'],
])('%s lists every outcome (%s)', (doc, line) => {
  const outcomes = namesOf<Outcome>({
    completed: true,
    'max-rounds': true,
    budget: true,
    truncated: true,
    suspended: true,
    canceled: true,
    failed: true,
  })
  expect(firstNames(tableAfter(line, doc))).toEqual(outcomes)
})

test('the guide lists every amount and scope of a budget, and every field of a cost and a context', () => {
  const listed = (line: string) => firstNames(tableAfter(line, 'docs/guides/cost-and-budgets.md'))
  const amounts = { usd: true, tokens: true, rounds: true, toolCalls: true, ms: true } as const
  expect(listed('A budget can limit')).toEqual(namesOf<keyof Limits>(amounts))
  const scopes = { thread: true, userPerDay: true, agentPerDay: true } as const
  expect(listed('Each of them can be limited')).toEqual(
    namesOf<Exclude<keyof Budget, keyof Limits | 'onLimit'>>(scopes),
  )
  expect(listed('A total has these fields:')).toEqual(
    namesOf<keyof TotalCost>({
      usd: true,
      knownUsd: true,
      unknown: true,
      estimatedUsd: true,
      simulatedUsd: true,
      tools: true,
    }),
  )
  expect(listed('The context is what')).toEqual(
    namesOf<keyof ContextUse>({
      tokens: true,
      limit: true,
      compactAt: true,
      system: true,
      tools: true,
      history: true,
      results: true,
    }),
  )
})

/** The fields of an event: `?` if they are optional. */
type FieldsOf<Event> = {
  readonly [Name in Exclude<keyof Event, 'type'>]-?: object extends Pick<Event, Name> ? '?' : ''
}

test('docs/reference/protocol.md lists every event of a run with its fields', () => {
  const call = { callId: '', name: '' } as const
  const paid = { usage: '?', estimate: '?', cost: '?' } as const
  const events: {
    readonly [Type in RunEvent['type']]: FieldsOf<Extract<RunEvent, { readonly type: Type }>>
  } = {
    'run-start': {
      version: '',
      runId: '',
      agent: '',
      input: '',
      repairs: '?',
      resumes: '?',
      inputs: '?',
      discarded: '?',
      losses: '?',
      lostMs: '?',
      trace: '?',
    },
    'round-start': { round: '', model: '', inputs: '?', limit: '?', failed: '?' },
    text: { text: '' },
    reasoning: { text: '' },
    'part-end': { part: '', opaque: '?' },
    'tool-input-start': { ...call, wants: '?' },
    'tool-input': { callId: '', delta: '' },
    'tool-call': { ...call, input: '', problem: '?', raw: '?', opaque: '?', wants: '?' },
    'provider-tool': { ...call, input: '?', output: '?', isError: '?', opaque: '?' },
    checkpoint: { opaque: '?' },
    'tool-start': { ...call, attempt: '', input: '?', permission: '?', display: '?' },
    'tool-progress': { callId: '', data: '?', event: '?', name: '?', agent: '?' },
    'tool-result': {
      ...call,
      output: '',
      shown: '?',
      status: '',
      isError: '',
      ms: '',
      overlapMs: '',
      permission: '?',
      cost: '?',
    },
    'approval-request': {
      ...call,
      input: '',
      wants: '?',
      reason: '?',
      permission: '?',
      remember: '?',
      budget: '?',
      display: '?',
    },
    approval: {
      callId: '',
      approved: '',
      reason: '?',
      input: '?',
      remember: '?',
      output: '?',
      isError: '?',
      request: '?',
    },
    input: { message: '', mode: '', request: '?', trace: '?' },
    metadata: { patch: '', initial: '?' },
    summary: { replaces: '', message: '', model: '?', ...paid },
    'round-retry': { round: '', attempt: '', model: '', delayMs: '', error: '', failed: '?' },
    'round-retract': { round: '', reason: '', failed: '?' },
    'round-end': {
      round: '',
      model: '',
      finish: '',
      error: '?',
      ...paid,
      contextTokens: '?',
      context: '?',
      timings: '?',
      metadata: '?',
    },
    'run-end': { outcome: '', finish: '?', usage: '', error: '?', ms: '?', limit: '?', failed: '?' },
  }
  const listed = tableAfter('A run emits the events', 'docs/reference/protocol.md').flatMap(
    ([names, cell = '']) =>
      namesIn(names).map((name) => [
        name,
        Object.fromEntries([...cell.matchAll(/`(\w+)(\??)`/g)].map(([, field, mark]) => [field, mark])),
      ]),
  )
  expect(Object.fromEntries(listed)).toEqual(events)
})
