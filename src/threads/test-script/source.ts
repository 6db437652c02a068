import type { Message } from '../../protocol/index.ts'
import { textOf } from '../../protocol/index.ts'
import type { Code } from './code.ts'
import { call, fields, layOut, list, literal, quote } from './code.ts'
import type { LoggedThread } from './log.ts'
import { optionsFor } from './options.ts'
import type { Plan, PlannedLeg, PlannedRound } from './plan.ts'
import type { Stub, StubAnswer } from './stubs.ts'

type Output = NonNullable<StubAnswer['output']>

/** A test that does what was planned, as it would be written by hand. */
export function sourceOf({ runs, unheard }: LoggedThread, plan: Plan, name: string | undefined): string {
  const variables = nameTools([...plan.tools.keys()])
  const tools = [...plan.tools].map(([tool, stub]) => ({ tool, stub, variable: variables.get(tool) ?? tool }))
  const { agent = '', messages = [] } = runs[0] ?? {}
  const options = fields({
    name: literal(agent),
    model: 'model',
    tools: tools.length > 0 ? list([...variables.values()]) : undefined,
    ...optionsFor(runs, plan.rounds),
    beforeCall: plan.verdicts.size > 0 ? '({ callId }) => verdicts[callId]' : undefined,
  })
  const test = [
    `test(${quote(name ?? titleOf(messages))}, async () => {`,
    ...tools.map(({ tool, stub, variable }) => line(`const ${variable} = `, stubCode(tool, stub))),
    ...modelLines(plan.rounds),
    ...verdictLines(plan.verdicts),
    line('const assistant = ', call('agent', options)),
    ...plan.legs.flatMap((leg, index) => ['', ...legLines(leg, { index, count: plan.legs.length })]),
    '',
    line(`expect(model.requests).toHaveLength(${plan.rounds.length})`),
    ...tools.map(({ stub, variable }) =>
      line('', call(`expect(${variable}.calls).toEqual`, list(stub.calls.map(literal)))),
    ),
    ...(unheard > 0 ? [line(`// Messages that nobody had answered yet: ${unheard}.`)] : []),
    '})\n',
  ].join('\n')
  const waits = plan.legs.some(({ cancel }) => cancel !== undefined && cancel.afterTold > 0)
  const head = imports({
    run: waits,
    content: tools.some(({ stub }) => stub.answers.some(({ output }) => output && !plainOutput(output))),
    tools: tools.length > 0,
    rounds: plan.rounds.some(isActedIn),
  })
  return `${head}\n${test}${waits ? `\n${untilTold}` : ''}`
}

function imports(uses: { run: boolean; content: boolean; tools: boolean; rounds: boolean }): string {
  const core = ['agent', uses.run && 'type Run', uses.content && 'toolContent']
  const kit = [uses.tools && 'recordedTool', uses.rounds && 'type ScriptRound', 'scriptedModel']
  return [
    `import { ${core.filter(Boolean).join(', ')} } from 'millrace'`,
    `import { ${kit.filter(Boolean).join(', ')} } from 'millrace/testing'`,
    "import { expect, test } from 'vitest'\n",
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

function stubCode(tool: string, { answers }: Stub): Code {
  return call('recordedTool', { quoted: tool }, list(answers.map(answerCode)))
}

function answerCode({ input, asks, output, error, hangs }: StubAnswer): Code {
  return fields({
    input: literal(input),
    asks: asks === undefined ? undefined : literal(asks),
    output: output && outputCode(output),
    error: error === undefined ? undefined : literal(error),
    hangs: hangs && 'true',
  })
}

/** What a tool returns to answer with these parts. */
function outputCode(parts: Output): Code {
  return plainOutput(parts) ?? call('toolContent', literal(parts))
}

function plainOutput([part, ...more]: Output): Code | undefined {
  if (!part || more.length > 0) return undefined
  if (part.type === 'text') return literal(part.text)
  return part.type === 'json' && typeof part.value !== 'string' ? literal(part.value) : undefined
}

function isActedIn({ steers, cancels }: PlannedRound): boolean {
  return steers.length > 0 || cancels !== undefined
}

function modelLines(rounds: readonly PlannedRound[]): string[] {
  const items = rounds.map(({ steps, comment }) => ({
    value: roundCode(steps),
    ...(comment !== undefined && { comment }),
  }))
  const script: Code = { bracket: '[', items }
  const acts = rounds.flatMap(({ steers, cancels }, index) => {
    const lines = [
      ...steers.map((message) => line('', call('run.steer', saidCode(message)), 6)),
      ...(cancels === undefined ? [] : [line('', call('run.cancel', literal(cancels)), 6)]),
    ]
    return lines.length > 0 ? [`    ${index}: () => {`, ...lines, '    },'] : []
  })
  if (!rounds.some(isActedIn)) return [line('const model = ', call('scriptedModel', script))]
  return [
    line('const rounds: ScriptRound[] = ', script),
    '  // What was said and done while a round was told, by its place in the script.',
    '  const meanwhile: Record<number, () => void> = {',
    ...acts,
    '  }',
    '  const model = scriptedModel((_, index) => {',
    '    meanwhile[index]?.()',
    "    return rounds[index] ?? 'This was not recorded.'",
    '  })',
  ]
}

function roundCode(steps: PlannedRound['steps']): Code {
  const [step, ...more] = steps
  return step && 'text' in step && more.length === 0 ? literal(step.text) : list(steps.map(literal))
}

function saidCode(message: Message): Code {
  return literal(typeof message.content === 'string' ? message.content : message)
}

function verdictLines(verdicts: Plan['verdicts']): string[] {
  if (verdicts.size === 0) return []
  return [
    '  // Calls that were not run, or with something else than the model wrote, by their ids.',
    line(
      'const verdicts: Record<string, { block: string } | { input: object }> = ',
      literal(Object.fromEntries(verdicts)),
    ),
  ]
}

function legLines(
  { begin, cancel, outcome, text, code }: PlannedLeg,
  { index, count }: { readonly index: number; readonly count: number },
): string[] {
  const declares = index > 0 ? '' : count > 1 ? 'let ' : 'const '
  const start = 'decisions' in begin ? resumeCode(begin.decisions) : streamCode(begin, index === 0)
  return [
    line(`${declares}run = `, start),
    ...(cancel ? cancelLines(cancel) : []),
    line(`${declares}result = await run.result`),
    line(`expect(result.outcome).toBe(${quote(outcome)})`),
    ...(code === undefined ? [] : [line(`expect(result.error?.code).toBe(${quote(code)})`)]),
    ...(text === undefined ? [] : [line('', call('expect(result.text).toBe', literal(text)))]),
  ]
}

function cancelLines({ reason, afterTold }: NonNullable<PlannedLeg['cancel']>): string[] {
  return [
    line(`// It was ended ${afterTold > 0 ? 'when it had come so far' : 'before it did anything'}.`),
    ...(afterTold > 0 ? [line(`await untilTold(run, ${afterTold})`)] : []),
    line('', call('run.cancel', literal(reason))),
  ]
}

function resumeCode(decisions: readonly unknown[]): Code {
  const [only, ...more] = decisions
  return call('run.resume', literal(more.length === 0 ? only : decisions))
}

function streamCode(
  { messages, maxRounds }: { readonly messages: readonly Message[]; readonly maxRounds: number | undefined },
  isFirst: boolean,
): Code {
  const [only, ...more] = messages
  const isText = isFirst && only?.role === 'user' && more.length === 0 && typeof only.content === 'string'
  const before = isFirst ? [] : ['...result.messages']
  const input = isText ? saidCode(only) : list([...before, ...messages.map(literal)])
  return call('assistant.stream', input, ...(maxRounds === undefined ? [] : [literal({ maxRounds })]))
}

function titleOf(messages: readonly Message[]): string {
  const said = messages.map(textOf).join(' ').replace(/\s+/g, ' ').trim()
  const beginning = said.slice(0, 60).replace(/[\uD800-\uDBFF]$/, '')
  return said.length > 60 ? `${beginning.trimEnd()}…` : said || 'a conversation'
}

/** A variable for each tool: `lookUpTool` for `look_up`. */
function nameTools(tools: readonly string[]): ReadonlyMap<string, string> {
  // What is imported keeps its name.
  const used = new Set(['recordedTool'])
  return new Map(
    tools.map((tool) => {
      const camel = tool.replace(/[^a-zA-Z0-9]+(.?)/g, (_, next: string) => next.toUpperCase())
      const base = /^[a-zA-Z]/.test(camel)
        ? `${camel[0]?.toLowerCase()}${camel.slice(1)}Tool`
        : `tool${camel}`
      let name = base
      for (let count = 2; used.has(name); count++) name = `${base}${count}`
      used.add(name)
      return [tool, name]
    }),
  )
}
