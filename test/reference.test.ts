import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { expect, expectTypeOf, test } from 'vitest'
import {
  type AgentOptions,
  agent,
  agentDefaults,
  type ToolContext,
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

/** The names in a cell such as `` `a`, `b(c)` ``. */
const namesIn = (cell = '') => [...cell.matchAll(/`(\w+)/g)].map(([, name]) => name ?? '')

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
  expect(listed.flatMap(([cell]) => namesIn(cell)).sort()).toEqual(seen.sort())
})

test('docs/reference/agents.md lists every option of an agent, with its default', () => {
  const options: Record<keyof AgentOptions, true> = {
    name: true,
    model: true,
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
