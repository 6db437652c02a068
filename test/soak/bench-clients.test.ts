import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Wire } from '../../bench/contract.ts'
import { startChild } from '../../bench/harness/process.ts'
import type { ServerAnswers } from '../../bench/server/main.ts'
import { workloadOf, workloads } from '../../bench/workloads/index.ts'
import type { Results } from '../../bench/workloads/results.ts'
import { runJobs } from '../../bench/workloads/run.ts'
import { allWires, type Job, type Outcome } from '../../bench/workloads/workload.ts'
import { root } from '../root.ts'
import { bench, resultsOf } from './bench-run.ts'

const folder = mkdtempSync(join(tmpdir(), 'bench-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('the benchmark', () => {
  it('runs every workload with Millrace and the floors, over every wire', async () => {
    const { stdout, stderr, exit } = await bench(
      'clients',
      '--tiny',
      '--client',
      'millrace,floor-bytes,floor-by-hand,floor-dispatcher',
    )
    expect({ exit, stderr: exit === 0 ? '' : stderr }).toEqual({ exit: 0, stderr: '' })
    for (const { title } of workloads) expect(stdout).toContain(title)
    expect(stdout).not.toContain('failed')

    const results: Results = resultsOf('clients')
    const done = results.rows.filter(({ client, state }) => client === 'millrace' && state === 'done')
    for (const { name, needs } of workloads)
      expect(done.filter(({ work }) => work === name).map(({ wire }) => wire)).toHaveLength(
        needs === 'imports' ? 1 : allWires.length,
      )
    expect(done.find(({ work }) => work === 'text')?.ratios.cpu).toBeGreaterThan(0)
  })

  it('measures the first use of a process apart', async () => {
    const { stdout, exit } = await bench('clients', '--tiny', '--client', 'millrace', '--work', 'short')
    expect(exit).toBe(0)
    expect(stdout).toContain('20 text deltas each, in a fresh process')
    expect(stdout).toContain('20 text deltas each, in a warm process')
  })

  it('uses the provider SDKs and the AI SDK correctly', async () => {
    const clients = 'ai-sdk,openai-raw,openai-helper,anthropic-raw,anthropic-helper'
    const { stdout, exit } = await bench(
      'clients',
      '--tiny',
      '--client',
      clients,
      '--work',
      'text,short,loop,arguments',
    )
    expect(exit).toBe(0)
    expect(stdout).not.toContain('failed')
    expect(stdout).toContain('AI SDK')
  })

  it.each([
    [['clients', '--fast'], "Unknown option '--fast'"],
    [['laod'], "Did you mean 'load'?"],
  ])('%j is rejected with an explanation', async (args, message) => {
    const { exit, stdout, stderr } = await bench(...args)
    expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' })
    expect(stderr).toContain(message)
  })

  it('explains itself', async () => {
    const { stdout, exit } = await bench('--help')
    expect(exit).toBe(0)
    for (const { name } of workloads) expect(stdout).toContain(name)
  })
})

describe('a faulty client', () => {
  const server = startChild<ServerAnswers>('server/main.ts')
  let url = ''
  beforeAll(async () => {
    url = await server.ask('open')
  })
  afterAll(() => server.stop())

  /** The reference with a change: `session` is its session, `setting` its setting. */
  function clientWith(name: string, change: string): string {
    const path = join(folder, `${name}.mjs`)
    const reference = JSON.stringify(join(root, 'bench/clients/floor-reference.ts'))
    writeFileSync(
      path,
      `import reference from ${reference}
export default { ...reference, async open(setting) { ${change} } }`,
    )
    return path
  }

  async function outcomeOf(work: string, client: string, limitMs = 30_000, wire: Wire = 'chat') {
    const [size] = workloadOf(work)?.cases('tiny') ?? []
    if (!size) throw new Error(`${work} has no size`)
    const job: Job = { work, client, wire, url, case: { ...size, limitMs } }
    const outcomes: Outcome[] = []
    await runJobs([job], (_, outcome) => outcomes.push(outcome))
    return outcomes
  }

  const failures: [what: string, work: string, change: string, reason: string][] = [
    [
      'loses text',
      'text',
      `const session = await reference.open(setting)
      let count = 0
      return { answer: (prompt, listener) => session.answer(prompt, { text: (piece) => { if (++count % 7) listener.text(piece) } }) }`,
      'characters, expected',
    ],
    [
      'changes text',
      'short',
      `const session = await reference.open(setting)
      return { answer: (prompt, listener) => session.answer(prompt, { text: (piece) => listener.text(piece.toUpperCase()) }) }`,
      'not the one that was sent',
    ],
    [
      'runs a tool twice',
      'loop',
      `const tools = setting.tools.map((tool) => ({ ...tool, run: (input) => (tool.run(input), tool.run(input)) }))
      return reference.open({ ...setting, tools })`,
      '6 tool calls ran, expected 3',
    ],
    [
      'runs a tool with other input',
      'loop',
      `const tools = setting.tools.map((tool) => ({ ...tool, run: (input) => tool.run({ ...input, extra: 1 }) }))
      return reference.open({ ...setting, tools })`,
      'the tool calls differ',
    ],
    [
      'sends more requests than needed',
      'short',
      `const session = await reference.open(setting)
      return { answer: async (prompt, listener) => { await session.answer(prompt, listener); await session.answer(prompt, { text() {} }) } }`,
      'requests, expected',
    ],
    [
      'loses deltas of a paced answer',
      'streams',
      `const session = await reference.open(setting)
      let count = 0
      return { answer: (prompt, listener) => session.answer(prompt, { text: (piece) => { if (++count % 3) listener.text(piece) } }) }`,
      'deltas arrived, expected',
    ],
    ['throws', 'text', `return { answer: async () => { throw new Error('no luck') } }`, 'no luck'],
    ['ends the process', 'text', `process.exit(3)`, 'the process died'],
  ]

  it.each(failures)('is reported if it %s', async (what, work, change, reason) => {
    const [outcome] = await outcomeOf(work, clientWith(what.replaceAll(' ', '-'), change))
    expect(outcome).toEqual({ type: 'failed', reason: expect.stringMatching(reason) })
  })

  it('is killed if it takes too long', async () => {
    const path = clientWith('slow', 'return { answer: () => new Promise((r) => setTimeout(r, 1e6)) }')
    expect(await outcomeOf('text', path, 1)).toEqual([{ type: 'over', limitMs: 1 }])
  })

  it('may print anything', async () => {
    const path = clientWith(
      'noisy',
      `console.log('{"type":"done","figures":{}}'); process.stdout.write('hello'); return reference.open(setting)`,
    )
    const [outcome] = await outcomeOf('text', path)
    expect(outcome).toMatchObject({ type: 'done', figures: { cpu: expect.any(Number) } })
  })

  it('fails the run only if it is Millrace or a floor', async () => {
    const path = clientWith('thrower', `return { answer: async () => { throw new Error('no luck') } }`)
    const { stdout, exit } = await bench(
      'clients',
      '--tiny',
      '--client',
      path,
      '--work',
      'short',
      '--wire',
      'chat',
    )
    expect(exit).toBe(0)
    expect(stdout).toContain('(chat) failed: no luck')
  })
})
