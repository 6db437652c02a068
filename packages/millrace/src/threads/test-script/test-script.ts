import { agentDefaults } from '../../agent/index.ts'
import type { Entry, Message } from '../../protocol/index.ts'
import { invalidInput, textOf } from '../../protocol/index.ts'
import type { Code } from './code.ts'
import { call, fields, format, list, literal, quote } from './code.ts'
import type { LoggedRun } from './log.ts'
import { closedCalls, readRuns } from './log.ts'
import type { PlannedLeg, PlannedRound } from './plan.ts'
import { planTest } from './plan.ts'

export interface TestScriptOptions {
  /** The name of the test. Default: the first message. */
  readonly name?: string | undefined
}

/**
 * Returns the source of a test that replays the conversation of a thread. Each round of the log
 * becomes a round of a scripted model, tools return what they returned, and users send and decide
 * the same. Throws `invalid_input` if nothing has run yet.
 */
export function testScript(entries: readonly Entry[], { name }: TestScriptOptions = {}): string {
  const { runs, waiting } = readRuns(entries)
  const [first] = runs
  if (!first) throw invalidInput('testScript', 'this thread has no runs yet, so there is nothing to test')
  const { stubs, rounds, legs } = planTest(runs)
  const tools = [...stubs.tools]
  const waits = legs.some(({ cancel }) => cancel && cancel.after > 0)
  const declares = legs.length > 1 ? 'let ' : 'const '
  const options = fields({
    name: quote(first.run.agent),
    model: 'model',
    tools: tools.length > 0 ? list(tools.map(([, { variable }]) => variable)) : undefined,
    ...optionsFor(runs, rounds),
    beforeCall: stubs.overrides.size > 0 ? '({ callId }) => overrides[callId]' : undefined,
  })
  const recorded = tools.filter(([, { isClients }]) => !isClients)
  const hasClients = recorded.length < tools.length
  const core = ['agent', waits && 'type Run', hasClients && 'tool', stubs.hasContent && 'toolContent']
  const kit = [
    recorded.length > 0 && 'recordedTool',
    rounds.some(hasActions) && 'type ScriptRound',
    'scriptedModel',
  ]
  return [
    `import { ${core.filter(Boolean).join(', ')} } from 'millrace'`,
    `import { ${kit.filter(Boolean).join(', ')} } from 'millrace/testing'`,
    "import { expect, test } from 'vitest'\n",
    `test(${quote(name ?? titleOf(first.messages))}, async () => {`,
    ...tools.map(([tool, { variable, isClients, answers }]) =>
      line(
        `const ${variable} = `,
        isClients ? clientTool(tool) : call('recordedTool', quote(tool), list(answers)),
      ),
    ),
    ...modelLines(rounds),
    ...overrideLines(Object.fromEntries(stubs.overrides)),
    line('const assistant = ', call('agent', options)),
    ...legs.flatMap((leg, index) => ['', ...legLines(leg, index === 0 ? declares : '')]),
    '',
    line(`expect(model.requests).toHaveLength(${rounds.length})`),
    ...recorded.map(([, { variable, calls }]) =>
      line('', call(`expect(${variable}.calls).toEqual`, list(calls))),
    ),
    ...(waiting > 0 ? [line(`// Messages that were not answered yet: ${waiting}.`)] : []),
    '})\n',
    ...(waits ? [untilEmitted] : []),
  ].join('\n')
}

/**
 * A tool without `run`: the results come with the decisions. Like `recordedTool`, it accepts any
 * input, without asynchronous validation.
 */
function clientTool(name: string): Code {
  const jsonSchema = literal({ type: 'object' })
  const input = fields({ jsonSchema, validate: '(value) => ({ value: value as object })' })
  return call('tool', fields({ name: quote(name), description: quote('A client runs this'), input }))
}

const untilEmitted = `/** Resolves when a run has emitted this much: characters, and events of calls. */
async function untilEmitted(run: Run, amount: number) {
  const counted = ['tool-input-start', 'tool-call', 'tool-start', 'tool-result', 'provider-tool']
  let left = amount
  for await (const event of run) {
    if (event.type === 'text' || event.type === 'reasoning') left -= event.text.length
    else if (event.type === 'tool-input') left -= event.delta.length
    else if (counted.includes(event.type)) left--
    if (left <= 0) return
  }
}
`

/** One line in the body of the test, or more if the code needs them. */
function line(before: string, code: Code = '', indent = 2): string {
  return `${' '.repeat(indent)}${before}${format(code, { indent, column: indent + before.length })}`
}

function hasActions({ steers, cancels }: PlannedRound): boolean {
  return steers.length > 0 || cancels !== undefined
}

function modelLines(rounds: readonly PlannedRound[]): string[] {
  const script = list(
    rounds.map(({ steps }) => roundCode(steps)),
    rounds.map(({ comment }) => comment),
  )
  if (!rounds.some(hasActions)) return [line('const model = ', call('scriptedModel', script))]
  return [
    line('const rounds: ScriptRound[] = ', script),
    '  // What happened while a round was generated, by its index in the script.',
    '  const duringRound: Record<number, () => void> = {',
    ...rounds.flatMap((round, index) =>
      hasActions(round) ? [`    ${index}: () => {`, ...actionLines(round), '    },'] : [],
    ),
    '  }',
    '  const model = scriptedModel((_, index) => {',
    '    duringRound[index]?.()',
    "    return rounds[index] ?? 'This was not recorded.'",
    '  })',
  ]
}

function roundCode(steps: PlannedRound['steps']): Code {
  const [step, ...more] = steps
  return step && 'text' in step && more.length === 0 ? quote(step.text) : list(steps.map(literal))
}

function actionLines({ steers, cancels }: PlannedRound): string[] {
  const messages = steers.map((message) => (typeof message.content === 'string' ? message.content : message))
  return [
    ...messages.map((message) => line('', call('run.steer', literal(message)), 6)),
    ...(cancels === undefined ? [] : [line('', call('run.cancel', quote(cancels)), 6)]),
  ]
}

function overrideLines(overrides: object): string[] {
  if (Object.keys(overrides).length === 0) return []
  const declaration = 'const overrides: Record<string, { block: string } | { input: object }> = '
  return [
    '  // Calls that were not run, or ran with a different input, by their ids.',
    line(declaration, literal(overrides)),
  ]
}

function legLines({ start, cancel, outcome, text, code }: PlannedLeg, declares: string): string[] {
  const isLater = cancel !== undefined && cancel.after > 0
  return [
    line(`${declares}run = `, start),
    ...(cancel
      ? [line(`// The run was ended ${isLater ? 'at this point' : 'before it did anything'}.`)]
      : []),
    ...(isLater ? [line(`await untilEmitted(run, ${cancel.after})`)] : []),
    ...(cancel ? [line('', call('run.cancel', quote(cancel.reason)))] : []),
    line(`${declares}result = await run.result`),
    line(`expect(result.outcome).toBe(${quote(outcome)})`),
    ...(code === undefined ? [] : [line(`expect(result.error?.code).toBe(${quote(code)})`)]),
    ...(text === undefined ? [] : [line('', call('expect(result.text).toBe', quote(text)))]),
  ]
}

function titleOf(messages: readonly Message[]): string {
  const text = messages.map(textOf).join(' ').replace(/\s+/g, ' ').trim()
  const start = text.slice(0, 60).replace(/[\uD800-\uDBFF]$/, '')
  return text.length > 60 ? `${start.trimEnd()}…` : text || 'a conversation'
}

const { maxRounds: defaultRounds, toolConcurrency, maxCallsPerRound, repeatLimits } = agentDefaults

/** The options an agent needs to repeat the log: as many retries, as many calls. */
function optionsFor(
  runs: readonly LoggedRun[],
  rounds: readonly PlannedRound[],
): Readonly<Record<string, Code | undefined>> {
  const kept = runs.map(({ attempts }) => attempts.filter(({ round }) => !round.retracted).map(closedCalls))
  const maxRounds = Math.max(...kept.map((calls) => calls.filter(({ length }) => length > 0).length))
  const maxCalls = Math.max(0, ...kept.flat().map(({ length }) => length))
  const repeated = kept.flatMap((calls) => {
    const same = Map.groupBy(calls.flat(), ({ name, input }) => JSON.stringify([name, input]))
    return [...same.values()].filter(({ length }) => length >= repeatLimits.block)
  })
  let [failures, inRow, isTooLong] = [0, 0, false]
  for (const { steps } of rounds) {
    const failed = steps.find((step) => 'error' in step)
    inRow = failed ? inRow + 1 : 0
    failures = Math.max(failures, inRow)
    isTooLong ||= Object(failed?.error).code === 'context_overflow'
  }
  return {
    retry: failures > 0 ? literal({ attempts: failures + 1, baseMs: 0 }) : undefined,
    maxRounds: maxRounds > defaultRounds ? literal(maxRounds) : undefined,
    toolConcurrency: maxCalls > toolConcurrency ? literal(maxCalls) : undefined,
    maxCallsPerRound: maxCalls > maxCallsPerRound ? literal(maxCalls) : undefined,
    repeatLimits: repeated.length > 0 ? 'false' : undefined,
    // No model reads the conversation, so it need not be compacted.
    compact: isTooLong ? 'false' : undefined,
  }
}
