import { agentDefaults } from '../../agent/index.ts'
import type { Entry, Message } from '../../protocol/index.ts'
import { invalidInput, textOf } from '../../protocol/index.ts'
import type { Code } from './code.ts'
import { call, fields, layOut, list, literal, quote } from './code.ts'
import type { LoggedRun } from './log.ts'
import { closedCalls, readRuns } from './log.ts'
import type { PlannedLeg, PlannedRound } from './plan.ts'
import { planTest } from './plan.ts'

export interface TestScriptOptions {
  /** That of the test; what was said first, if absent. */
  readonly name?: string | undefined
}

/**
 * The source of a test that plays the conversation of a thread again: each round of the log is one of a scripted model, tools
 * answer as they did, people say and decide the same. Throws `invalid_input` if nothing has run yet.
 */
export function testScript(entries: readonly Entry[], { name }: TestScriptOptions = {}): string {
  const { runs, waiting } = readRuns(entries)
  const [first] = runs
  if (!first)
    throw invalidInput('testScript', 'nothing has run in this thread yet, so there is nothing to test')
  const { stubs, rounds, legs } = planTest(runs)
  const tools = [...stubs.tools]
  const waits = legs.some(({ cancel }) => cancel && cancel.after > 0)
  const declares = legs.length > 1 ? 'let ' : 'const '
  const options = fields({
    name: quote(first.run.agent),
    model: 'model',
    tools: tools.length > 0 ? list(tools.map(([, { variable }]) => variable)) : undefined,
    ...optionsFor(runs, rounds),
    beforeCall: stubs.verdicts.size > 0 ? '({ callId }) => verdicts[callId]' : undefined,
  })
  const core = ['agent', waits && 'type Run', stubs.hasContent && 'toolContent']
  const kit = [
    tools.length > 0 && 'recordedTool',
    rounds.some(isActedIn) && 'type ScriptRound',
    'scriptedModel',
  ]
  return [
    `import { ${core.filter(Boolean).join(', ')} } from 'millrace'`,
    `import { ${kit.filter(Boolean).join(', ')} } from 'millrace/testing'`,
    "import { expect, test } from 'vitest'\n",
    `test(${quote(name ?? titleOf(first.messages))}, async () => {`,
    ...tools.map(([tool, { variable, answers }]) =>
      line(`const ${variable} = `, call('recordedTool', quote(tool), list(answers))),
    ),
    ...modelLines(rounds),
    ...verdictLines(Object.fromEntries(stubs.verdicts)),
    line('const assistant = ', call('agent', options)),
    ...legs.flatMap((leg, index) => ['', ...legLines(leg, index === 0 ? declares : '')]),
    '',
    line(`expect(model.requests).toHaveLength(${rounds.length})`),
    ...tools.map(([, { variable, calls }]) =>
      line('', call(`expect(${variable}.calls).toEqual`, list(calls))),
    ),
    ...(waiting > 0 ? [line(`// Messages that nobody had answered yet: ${waiting}.`)] : []),
    '})\n',
    ...(waits ? [untilTold] : []),
  ].join('\n')
}

const untilTold = `/** Resolves when a run has told so much: characters, and what happens to calls. */
async function untilTold(run: Run, much: number) {
  const counted = ['tool-input-start', 'tool-call', 'tool-start', 'tool-result', 'provider-tool']
  let left = much
  for await (const event of run) {
    if (event.type === 'text' || event.type === 'reasoning') left -= event.text.length
    else if (event.type === 'tool-input') left -= event.delta.length
    else if (counted.includes(event.type)) left--
    if (left <= 0) return
  }
}
`

/** A line in the body of the test, or as many as the code takes. */
function line(before: string, code: Code = '', indent = 2): string {
  return `${' '.repeat(indent)}${before}${layOut(code, { indent, column: indent + before.length })}`
}

function isActedIn({ steers, cancels }: PlannedRound): boolean {
  return steers.length > 0 || cancels !== undefined
}

function modelLines(rounds: readonly PlannedRound[]): string[] {
  const script = list(
    rounds.map(({ steps }) => roundCode(steps)),
    rounds.map(({ comment }) => comment),
  )
  if (!rounds.some(isActedIn)) return [line('const model = ', call('scriptedModel', script))]
  return [
    line('const rounds: ScriptRound[] = ', script),
    '  // What was said and done while a round was told, by its place in the script.',
    '  const meanwhile: Record<number, () => void> = {',
    ...rounds.flatMap((round, index) =>
      isActedIn(round) ? [`    ${index}: () => {`, ...actLines(round), '    },'] : [],
    ),
    '  }',
    '  const model = scriptedModel((_, index) => {',
    '    meanwhile[index]?.()',
    "    return rounds[index] ?? 'This was not recorded.'",
    '  })',
  ]
}

function roundCode(steps: PlannedRound['steps']): Code {
  const [step, ...more] = steps
  return step && 'text' in step && more.length === 0 ? quote(step.text) : list(steps.map(literal))
}

function actLines({ steers, cancels }: PlannedRound): string[] {
  const said = steers.map((message) => (typeof message.content === 'string' ? message.content : message))
  return [
    ...said.map((message) => line('', call('run.steer', literal(message)), 6)),
    ...(cancels === undefined ? [] : [line('', call('run.cancel', quote(cancels)), 6)]),
  ]
}

function verdictLines(verdicts: object): string[] {
  if (Object.keys(verdicts).length === 0) return []
  const declaration = 'const verdicts: Record<string, { block: string } | { input: object }> = '
  return [
    '  // Calls that were not run, or with something else than the model wrote, by their ids.',
    line(declaration, literal(verdicts)),
  ]
}

function legLines({ begin, cancel, outcome, text, code }: PlannedLeg, declares: string): string[] {
  const isBegun = cancel !== undefined && cancel.after > 0
  return [
    line(`${declares}run = `, begin),
    ...(cancel
      ? [line(`// It was ended ${isBegun ? 'when it had come so far' : 'before it did anything'}.`)]
      : []),
    ...(isBegun ? [line(`await untilTold(run, ${cancel.after})`)] : []),
    ...(cancel ? [line('', call('run.cancel', quote(cancel.reason)))] : []),
    line(`${declares}result = await run.result`),
    line(`expect(result.outcome).toBe(${quote(outcome)})`),
    ...(code === undefined ? [] : [line(`expect(result.error?.code).toBe(${quote(code)})`)]),
    ...(text === undefined ? [] : [line('', call('expect(result.text).toBe', quote(text)))]),
  ]
}

function titleOf(messages: readonly Message[]): string {
  const said = messages.map(textOf).join(' ').replace(/\s+/g, ' ').trim()
  const beginning = said.slice(0, 60).replace(/[\uD800-\uDBFF]$/, '')
  return said.length > 60 ? `${beginning.trimEnd()}…` : said || 'a conversation'
}

const { maxRounds: usualRounds, toolConcurrency, maxCallsPerRound, repeatLimits } = agentDefaults

/** The options that an agent needs to do what the log says: to send again as often, to run as many calls. */
function optionsFor(
  runs: readonly LoggedRun[],
  rounds: readonly PlannedRound[],
): Readonly<Record<string, Code | undefined>> {
  const kept = runs.map(({ attempts }) => attempts.filter(({ round }) => !round.retracted).map(closedCalls))
  const maxRounds = Math.max(...kept.map((calls) => calls.filter(({ length }) => length > 0).length))
  const most = Math.max(0, ...kept.flat().map(({ length }) => length))
  const repeated = kept.flatMap((calls) => {
    const same = Map.groupBy(calls.flat(), ({ name, input }) => JSON.stringify([name, input]))
    return [...same.values()].filter(({ length }) => length >= repeatLimits.refuse)
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
    maxRounds: maxRounds > usualRounds ? literal(maxRounds) : undefined,
    toolConcurrency: most > toolConcurrency ? literal(most) : undefined,
    maxCallsPerRound: most > maxCallsPerRound ? literal(most) : undefined,
    repeatLimits: repeated.length > 0 ? 'false' : undefined,
    // No model reads the conversation, so it need not become shorter.
    shorten: isTooLong ? 'false' : undefined,
  }
}
