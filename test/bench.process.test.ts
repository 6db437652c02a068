import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Wire } from '../bench/contract.ts'
import type { Outcome } from '../bench/process/outcome.ts'
import { chart } from '../bench/report/chart.ts'
import { markdown, withResults } from '../bench/report/markdown.ts'
import type { Results, Row } from '../bench/report/results.ts'
import { withWorks } from '../bench/report/results.ts'
import { tablesOf } from '../bench/report/tables.ts'
import { printed } from '../bench/report/terminal.ts'
import { runJobs } from '../bench/runner/client-process.ts'
import { allWires, readOptions } from '../bench/runner/options.ts'
import type { ServerProcess } from '../bench/runner/server-process.ts'
import { startServer } from '../bench/runner/server-process.ts'
import { workOf, works } from '../bench/works/index.ts'
import type { Job } from '../bench/works/work.ts'

const root = resolve(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'bench-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Runs the real thing, as a user does. */
async function bench(...args: string[]) {
  const child = spawn(process.execPath, ['bench/main.ts', ...args], { cwd: root })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { out, err, code: child.exitCode }
}

describe('the benchmark', () => {
  it('runs every work with ours and the floors, over every wire', async () => {
    const { out, err, code } = await bench('--tiny', '--client', 'millrace,floor-bytes,floor-by-hand')
    expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' })
    for (const { title } of works) expect(out).toContain(title)
    expect(out).not.toContain('failed')

    const results: Results = JSON.parse(readFileSync(join(root, 'bench/.cache/results.json'), 'utf8'))
    const done = results.rows.filter(({ client, state }) => client === 'millrace' && state === 'done')
    for (const { name, needs } of works)
      expect(done.filter(({ work }) => work === name).map(({ wire }) => wire)).toHaveLength(
        needs === 'imports' ? 1 : allWires.length,
      )
    expect(done.find(({ work }) => work === 'text')?.ratios.cpu).toBeGreaterThan(0)
  })

  it('uses the clients of providers and of the AI SDK so that their results are right', async () => {
    const clients = 'ai-sdk,openai-raw,openai-helper,anthropic-raw,anthropic-helper'
    const { out, code } = await bench('--tiny', '--client', clients, '--work', 'text,short,loop,arguments')
    expect(code).toBe(0)
    expect(out).not.toContain('failed')
    expect(out).toContain('AI SDK')
  })

  it.each([
    [['--work', 'sing'], '--work: there is no "sing", but there are text, short'],
    [['--client', 'nobody'], '--client: there is no "nobody"'],
    [['--wire', 'telex'], '--wire: there is no "telex", but there are chat, responses, messages'],
    [['--repeat', '0'], '--repeat: must be a whole number from 1'],
    [['--fast'], "Unknown option '--fast'"],
  ])('says what is wrong with %j', async (args, message) => {
    const { err, code, out } = await bench(...args)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(message)
  })

  it('explains itself', async () => {
    const { out, code } = await bench('--help')
    expect(code).toBe(0)
    for (const { name } of works) expect(out).toContain(name)
  })

  it('keeps only whole runs, unless it is told to', () => {
    expect(readOptions([])?.save).toBe(true)
    expect(readOptions(['--quick'])?.save).toBe(false)
    expect(readOptions(['--work', 'text'])?.save).toBe(false)
    expect(readOptions(['--quick', '--save'])?.save).toBe(true)
  })
})

describe('a client that is wrong', () => {
  let server: ServerProcess
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.stop())

  /** The reference with something changed: `session` is its session, `setting` what it was opened with. */
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
    const [size] = workOf(work)?.cases('tiny') ?? []
    if (!size) throw new Error(`${work} has no size`)
    const job: Job = { work, client, wire, url: server.url, case: { ...size, limitMs } }
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
      'characters were sent|characters where',
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
      '6 calls were run where 3 were made',
    ],
    [
      'runs a tool with other input',
      'loop',
      `const tools = setting.tools.map((tool) => ({ ...tool, run: (input) => tool.run({ ...input, extra: 1 }) }))
      return reference.open({ ...setting, tools })`,
      'other calls were run',
    ],
    [
      'asks more often than it has to',
      'short',
      `const session = await reference.open(setting)
      return { answer: async (prompt, listener) => { await session.answer(prompt, listener); await session.answer(prompt, { text() {} }) } }`,
      'requests were made where',
    ],
    [
      'loses deltas of a paced answer',
      'streams',
      `const session = await reference.open(setting)
      let count = 0
      return { answer: (prompt, listener) => session.answer(prompt, { text: (piece) => { if (++count % 3) listener.text(piece) } }) }`,
      'deltas came where',
    ],
    ['throws', 'text', `return { answer: async () => { throw new Error('no luck') } }`, 'no luck'],
    ['ends the process', 'text', `process.exit(3)`, 'the process died'],
  ]

  it.each(failures)('is reported when it %s', async (what, work, change, reason) => {
    const [outcome] = await outcomeOf(work, clientWith(what.replaceAll(' ', '-'), change))
    expect(outcome).toEqual({ type: 'failed', reason: expect.stringMatching(reason) })
  })

  it('is ended when it takes too long', async () => {
    const path = clientWith('slow', 'return { answer: () => new Promise((r) => setTimeout(r, 1e6)) }')
    expect(await outcomeOf('text', path, 1)).toEqual([{ type: 'over', limitMs: 1 }])
  })

  it('may print what it likes', async () => {
    const path = clientWith(
      'noisy',
      `console.log('{"type":"done","figures":{}}'); process.stdout.write('hello'); return reference.open(setting)`,
    )
    const [outcome] = await outcomeOf('text', path)
    expect(outcome).toMatchObject({ type: 'done', figures: { cpu: expect.any(Number) } })
  })

  it('fails the run only if it is ours or a floor', async () => {
    const path = clientWith('thrower', `return { answer: async () => { throw new Error('no luck') } }`)
    const { out, code } = await bench('--tiny', '--client', path, '--work', 'short', '--wire', 'chat')
    expect(code).toBe(0)
    expect(out).toContain('(chat) failed: no luck')
  })
})

describe('the report', () => {
  const row = (client: string, work: string, wire: Wire, cpu: number, fields: Partial<Row> = {}): Row => ({
    work,
    case: 'small',
    client,
    wire,
    state: 'done',
    figures: { cpu: { median: cpu, low: cpu - 1, high: cpu + 1, values: [cpu - 1, cpu, cpu + 1] } },
    ratios: { cpu: cpu / 4 },
    ...fields,
  })
  const results: Results = {
    version: 1,
    date: '2026-01-02',
    mode: 'full',
    seed: 1,
    node: 'v24.0.0',
    machine: 'two cores',
    packages: { 'some-sdk': '1.2.3' },
    clients: {
      'floor-reference': { label: 'reference' },
      millrace: { label: 'Millrace', version: '0.1.0' },
      other: { label: 'Other <SDK>', version: '1.2.3' },
    },
    rows: [
      row('other', 'text', 'chat', 40),
      row('floor-reference', 'text', 'chat', 4),
      row('millrace', 'text', 'chat', 5),
      row('other', 'text', 'messages', 0, { state: 'failed', reason: 'no luck', figures: {}, ratios: {} }),
      row('floor-reference', 'arguments', 'chat', 4),
      row('other', 'arguments', 'chat', 0, { state: 'over', reason: '> 60 s', figures: {}, ratios: {} }),
    ],
    unmeasured: ['other responses'],
  }

  it('sorts clients, marks ours, and tells ranges, ratios, failures and what had no time', () => {
    const out = printed(results, tablesOf(results))
    const lines = out.split('\n')
    const at = (start: string) => lines.findIndex((line) => line.startsWith(start))
    expect(at('  reference')).toBeLessThan(at('▶ Millrace'))
    expect(at('▶ Millrace')).toBeLessThan(at('  Other <SDK>'))
    expect(out).toContain('5.00 µs (4.00–6.00) 1.25×')
    expect(out).toContain('(Other <SDK> (messages) failed: no luck)')
    expect(out).toContain('> 60 s')
    expect(out).toContain('other responses')
  })

  it('puts its tables between the markers of a page, again and again', () => {
    const page = '# Bench\n\n<!-- results -->\nold\n<!-- /results -->\n\nend\n'
    const once = withResults(page, markdown(results, tablesOf(results))) ?? ''
    expect(once).toContain('| **Millrace** | **5.00 µs (4.00–6.00) 1.25×** |')
    expect(once).toContain('some-sdk 1.2.3')
    expect(once).not.toContain('old')
    expect(withResults(once, markdown(results, tablesOf(results)))).toBe(once)
    expect(withResults('# Bench', '')).toBeUndefined()
  })

  it('takes the place of what was saved of the same works only', () => {
    const [row] = results.rows
    if (!row) throw new Error('no row')
    const before = {
      ...results,
      rows: [
        { ...row, work: 'text' },
        { ...row, work: 'loop', client: 'old' },
      ],
    }
    const now = { ...results, rows: [{ ...row, work: 'loop', client: 'new' }] }
    expect(withWorks(before, now).rows).toEqual([before.rows[0], now.rows[0]])
    expect(withWorks({ ...before, mode: 'quick' }, { ...now, mode: 'full' }).rows).toEqual(now.rows)
  })

  it('draws a chart that is well-formed', () => {
    const svg = chart(results)
    expect(svg.match(/<g /g)).toHaveLength(svg.match(/<\/g>/g)?.length ?? 0)
    expect(svg).toContain('Other &lt;SDK>')
    expect(svg).toContain('1.3×')
    expect(svg).not.toContain('NaN')
  })
})
