import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { agent } from '../agent/index.ts'
import { sqliteStore } from '../log/sqlite.ts'
import { scriptedModel } from '../testing/index.ts'
import { millrace } from '../threads/index.ts'
import { untilIdle } from '../threads/threads.test-kit.ts'
import type { Home } from './cli.test-kit.ts'
import { hasTerminals, homeWith, linesOf, makeHome, openTerminal } from './cli.test-kit.ts'

const simulator = ['--model', 'simulator']

const storeOf = ({ folder }: Home) => sqliteStore(join(folder, '.local/share/millrace/threads.db'))

/** A thread `mine` of the command line that asks for another round, or for more dollars. */
async function asking(budget: { rounds: number } | { usd: number }) {
  const home = makeHome()
  await home.run(['hi', ...simulator, '--thread', 'mine', '--new'])
  const store = storeOf(home)
  const usage = { usage: { inputTokens: 1000, outputTokens: 500 } }
  const model = scriptedModel([[{ call: 'look' }, usage], 'Done.'], { id: 'pricey' })
  const prices = { pricey: { input: 1, output: 4 } }
  const cli = agent({ name: 'cli', model, prices, budget: { ...budget, onLimit: 'ask' } })
  const app = millrace({ agents: { cli }, store })
  const thread = app.thread('mine')
  await thread.send('Look.')
  await untilIdle(thread)
  await app.close()
  await store.close()
  return home
}

describe.concurrent('what an answer costs', () => {
  test.skipIf(!hasTerminals)('is shown below it in a terminal, and says if it is simulated', async () => {
    const terminal = openTerminal(makeHome(), ['hi there', ...simulator])
    await terminal.see(/I am only a simulator/)
    await terminal.see(/\$0\.00\d+ .*\(simulated\) · 1 round/)
    await terminal.see('continue with')
    expect((await terminal.ended).exit).toBe(0)
  })

  test.skipIf(!hasTerminals)('is not called zero if the price is not known', async () => {
    const home = await homeWith(['Hello.'])
    const terminal = openTerminal(home, ['hi there'])
    await terminal.see(/unknown cost \(no price for 'test-model'\) · 1 round · \d+ tokens in, \d+ out/)
    await terminal.ended
    const quiet = openTerminal(home, ['hi there', '--quiet'])
    await quiet.ended
    expect(quiet.output()).not.toContain('unknown cost')
  })

  test('is a part of the result with --json', async () => {
    const { stdout, stderr } = await makeHome().run(['hi', '--json', ...simulator])
    expect(linesOf(stdout).at(-1)).toMatchObject({
      result: {
        outcome: 'completed',
        cost: { usd: expect.any(Number), simulatedUsd: expect.any(Number) },
        context: { tokens: expect.any(Number) },
      },
    })
    expect(stderr).toBe('')
  })
})

describe.concurrent('--max-cost', () => {
  test('ends a run before it costs more, with the limit as the reason', async () => {
    const home = makeHome()
    const ended = await home.run(['hi', '--max-cost', '0.0000001', '--thread', 'mine', '--new', ...simulator])
    expect(ended).toMatchObject({
      exit: 4,
      stdout: '',
      stderr: expect.stringMatching(
        /^millrace: The budget of <\$0\.0001 for this run is too small .*\ncontinue with: millrace --thread mine .*--max-cost 0\.0000001/,
      ),
    })
    const { exit, stdout } = await home.run(['hi', '--max-cost', '0.0000001', '--json', ...simulator])
    expect({ exit, last: linesOf(stdout).at(-1) }).toMatchObject({
      exit: 4,
      last: { result: { outcome: 'budget', limit: { scope: 'run', kind: 'usd', limit: 0.0000001 } } },
    })
    expect(await home.run(['show', 'mine'])).toMatchObject({
      stdout: expect.stringContaining('(The budget of <$0.0001 for this run is too small'),
    })
  })

  test('allows what costs less', async () => {
    expect(await makeHome().run(['hi', '--max-cost', '$1', ...simulator])).toMatchObject({ exit: 0 })
  })

  test('needs a model with a known price', async () => {
    const home = await homeWith(['Hello.'])
    expect(await home.run(['hi there', '--max-cost', '1'])).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining("'test-model'"),
    })
    expect(home.simulator.requests).toHaveLength(0)
  })

  test.each(['0', '-1', 'x', '', 'Infinity'])('rejects %j', async (amount) => {
    expect(await makeHome().run(['hi', `--max-cost=${amount}`, ...simulator])).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('--max-cost must be an amount in US dollars such as 0.50'),
    })
  })

  test('is rejected for a thread whose agent runs on a server', async () => {
    const home = makeHome()
    await home.run(['hi', ...simulator])
    const store = storeOf(home)
    await store.create({ id: 'theirs', agent: 'desk' })
    await store.close()
    expect(await home.run(['hi', '--thread', 'theirs', '--max-cost', '1'])).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining(
        "--max-cost has no effect: thread 'theirs' belongs to the agent 'desk'",
      ),
    })
  })

  test.skipIf(!hasTerminals)('asks for more in a chat', async () => {
    const terminal = openTerminal(makeHome(), ['--max-cost', '0.0000001', ...simulator])
    await terminal.see('/help')
    terminal.type('hello\r')
    await terminal.see(/\n\? The budget of <\$0\.0001 for this run is too small .*Spend\s+<\$0\.0001 more\?/)
    terminal.type('e {"usd": 1}\r')
    await terminal.see('I am only a simulator')
    terminal.type('\x04')
    expect((await terminal.ended).exit).toBe(0)
  })
})

describe.concurrent('a question about a budget', () => {
  const question = 'The budget of 1 round for this run is spent (1 round). Allow another 1 round?'

  test('is answered with millrace approve', async () => {
    const home = await asking({ rounds: 1 })
    const again = await home.run(['hi', '--thread', 'mine', ...simulator])
    expect(again).toMatchObject({
      exit: 6,
      stderr: expect.stringContaining(
        [
          `${question}`,
          '  to approve: millrace approve mine budget_1 --model simulator',
          '  to deny:    millrace approve mine budget_1 --deny reason --model simulator\n',
        ].join('\n'),
      ),
    })
    expect(await home.run(['show', 'mine'])).toMatchObject({ stdout: expect.stringContaining(question) })
    expect(await home.run(['approve', 'mine', 'budget_1', ...simulator])).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining('I am only a simulator'),
    })
  })

  test('can be answered with another amount, and with no', async () => {
    const home = await asking({ usd: 0.003 })
    const approved = await home.run(['approve', 'mine', '--input', '{"usd": 5}', '--json', ...simulator])
    expect(linesOf(approved.stdout).at(0)).toMatchObject({
      event: { type: 'approval', callId: 'budget_1', approved: true, input: { usd: 5 } },
    })
    expect(approved.exit).toBe(0)
    const other = await asking({ rounds: 1 })
    expect(await other.run(['approve', 'mine', '--deny', 'enough', ...simulator])).toMatchObject({
      exit: 4,
      stderr: expect.stringContaining('The budget of 1 round for this run is spent.'),
    })
  })

  test.skipIf(!hasTerminals)('is asked in a terminal', async () => {
    const home = makeHome()
    await home.run(['hi', ...simulator])
    const store = storeOf(home)
    const model = scriptedModel([[{ call: 'look' }], 'Done.'])
    const app = millrace({ agents: { desk: agent({ model, budget: { rounds: 1, onLimit: 'ask' } }) }, store })
    await app.thread('theirs').create()
    const terminal = openTerminal(home, ['look around', '--thread', 'theirs'])
    await terminal.see(`${question} [y/n]`)
    terminal.type('y\r')
    await terminal.see('Done.')
    expect((await terminal.ended).exit).toBe(0)
    await app.close()
    await store.close()
  })
})

describe.concurrent('millrace usage', () => {
  test('shows what was spent by day, with the total of several rows', async () => {
    const home = makeHome()
    expect(await home.run(['usage'])).toMatchObject({ exit: 2 })
    await home.run(['one', ...simulator])
    await home.run(['two', ...simulator])
    const day = await home.run(['usage'])
    expect(day).toMatchObject({ exit: 0, stderr: '' })
    const [head = '', row = '', ...more] = day.stdout.trimEnd().split('\n')
    expect(head.split(/ {2,}/)).toEqual(expect.arrayContaining(['day', 'runs', 'rounds', 'tool calls']))
    expect(row).toMatch(/^\d{4}-\d\d-\d\d +\$0\.00\d+.*\(simulated\) +2 +2 +0 /)
    expect(more).toEqual([])
    const models = (await home.run(['usage', '--by', 'agent,model'])).stdout
    expect(models).toMatch(/\ncli +simulator +\$/)
    expect(models).toMatch(/\ntotal +\$/)
  })

  test('counts requests with an unknown price, and does not call their cost zero', async () => {
    const home = await homeWith(['Hello.'])
    await home.run(['hi there'])
    const { stdout } = await home.run(['usage', '--by', 'agent'])
    expect(stdout).toMatch(/^agent +cost +unknown price +runs/)
    expect(stdout).toMatch(/\ncli +unknown +1 +1 +1 /)
  })

  test('prints one row per line with --json, for some days, an agent or a user', async () => {
    const home = makeHome()
    await home.run(['one', ...simulator])
    const rows = async (...flags: string[]) => linesOf((await home.run(['usage', '--json', ...flags])).stdout)
    expect(await rows('--by', 'agent')).toMatchObject([{ v: 1, spending: { agent: 'cli', runs: 1 } }])
    const [{ spending } = {}] = await rows()
    const { day } = spending as { day: string }
    expect(await rows('--from', day, '--to', day, '--agent', 'cli')).toHaveLength(1)
    expect(await rows('--from', '2999-01-01')).toEqual([])
    expect(await home.run(['usage', '--user', 'ada'])).toMatchObject({
      exit: 0,
      stderr: 'nothing was spent\n',
    })
  })

  test.each([
    [['--by', 'week'], '\'by\' cannot have "week": use day, agent, user, model, tool'],
    [['--from', 'monday'], "'from' must be a date such as '2026-11-18', not \"monday\""],
  ])('rejects %j', async (flags, message) => {
    const home = makeHome()
    await home.run(['one', ...simulator])
    expect(await home.run(['usage', ...flags])).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining(message),
    })
  })
})
