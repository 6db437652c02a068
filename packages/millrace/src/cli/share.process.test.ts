import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readExport } from '../protocol/index.ts'
import { homeWith, linesOf } from './cli.test-kit.ts'
import { openThread } from './open-threads.ts'
import { toolsFile } from './tools.test-kit.ts'

async function talked() {
  const home = await homeWith([
    [{ text: 'Let me look.' }, { call: 'look_up', input: { id: 'A' } }],
    'It has **shipped**. </script>',
    'You are welcome.',
    'Any time.',
  ])
  home.write('tools.ts', toolsFile)
  await home.run(['Where is A? <!--', '--tools', 'tools.ts', '--thread', 'mine', '--new'])
  return home
}

test.concurrent('a thread is exported as HTML or JSON, imported elsewhere and continued there', async () => {
  const home = await talked()
  const shown = await home.run(['show', 'mine', '--json', '--pace'])
  const { stdout: html, exit } = await home.run(['export', 'mine', '--format', 'html'])
  expect(exit).toBe(0)
  expect(readExport(html).entries).toEqual(linesOf(shown.stdout).map(({ v, ...entry }) => entry))
  home.write('thread.html', html)
  const other = ['--data', 'other.db']
  expect(await home.run(['import', 'thread.html', '--id', 'copy', ...other])).toEqual({
    exit: 0,
    stdout: 'copy\n',
    stderr: expect.stringMatching(
      /^imported \d+ entries; continue with: millrace --thread copy --data other.db\n$/,
    ),
  })
  expect(await home.run(['show', 'copy', '--json', '--pace', ...other])).toEqual(shown)
  expect((await home.run(['threads', '--search', 'shipped', ...other])).stdout).toMatch(/^copy .* idle /)
  const next = await home.run(['Thanks!', '--thread', 'copy', '--tools', 'tools.ts', ...other])
  expect(next).toMatchObject({ exit: 0, stdout: expect.stringContaining('You are welcome.') })
  expect(JSON.stringify(home.simulator.requests.at(-1)?.body)).toContain('It has **shipped**')

  const { stdout: json } = await home.run(['export', 'mine', '--format', 'json'])
  const imported = await home.run(['import', '-', '--agent', 'boss', ...other], { input: json })
  const id = imported.stdout.trim()
  expect(imported).toMatchObject({ exit: 0, stdout: expect.stringMatching(/^thread_\S+\n$/) })
  expect((await home.run(['show', id, ...other])).stdout).toBe((await home.run(['show', 'mine'])).stdout)
  expect((await home.run(['threads', ...other])).stdout).toMatch(new RegExp(`^${id} .* boss `, 'm'))

  for (const [words, problem] of [
    [['thread.html', '--id', 'copy'], "thread 'copy' already exists"],
    [['tools.ts'], 'this file is neither JSON nor HTML with an exported thread'],
    [['missing.json'], 'cannot read missing.json: ENOENT'],
    [[], 'millrace import needs a file from millrace export, or - for stdin'],
  ] as const)
    expect(await home.run(['import', ...words, ...other])).toMatchObject({
      exit: problem.startsWith('thread') ? 1 : 2,
      stdout: '',
      stderr: expect.stringContaining(problem),
    })
})

test.concurrent('answers with feedback are exported as JSON Lines, of all threads or one', async () => {
  const home = await talked()
  await home.run(['Thanks!', '--thread', 'mine'])
  await home.run(['And now?', '--thread', 'other', '--new'])
  expect(await home.run(['export', '--feedback'])).toEqual({
    exit: 0,
    stdout: '',
    stderr: 'no answer has feedback\n',
  })
  await rate(home.folder, 'mine', [
    { rating: 'up', user: 'ada' },
    { rating: 'down', note: 'Too short', user: 'bob' },
  ])
  await rate(home.folder, 'other', [{ rating: 'up' }, {}])
  const { stdout, ...ended } = await home.run(['export', '--feedback'])
  expect(ended).toEqual({ exit: 0, stderr: '' })
  const answer = {
    thread: 'mine',
    agent: 'cli',
    run: expect.any(String),
    at: expect.any(Number),
    input: [{ role: 'user', content: 'Where is A? <!--' }],
    output: 'It has **shipped**. </script>',
    outcome: 'completed',
    tools: ['look_up'],
  }
  expect(linesOf(stdout)).toEqual([
    { v: 1, feedback: { ...answer, rating: 'up', user: 'ada' } },
    { v: 1, feedback: { ...answer, rating: 'down', note: 'Too short', user: 'bob' } },
  ])
  expect((await home.run(['export', 'mine', '--feedback'])).stdout).toBe(stdout)
  expect(await home.run(['export', 'other', '--feedback'])).toMatchObject({ exit: 0, stdout: '' })
  expect(await home.run(['export', 'nothing', '--feedback'])).toMatchObject({ exit: 2, stdout: '' })
  expect(await home.run(['export', '--feedback', '--format', 'md'])).toMatchObject({
    exit: 2,
    stderr: expect.stringContaining('--feedback and --format cannot be combined'),
  })
})

/** Rates the first answer of a thread. */
async function rate(
  folder: string,
  id: string,
  ratings: readonly { rating?: 'up' | 'down'; note?: string; user?: string }[],
): Promise<void> {
  const data = join(folder, '.local/share/millrace/threads.db')
  const { app, thread } = await openThread({ data }, id)
  const start = (await thread.read()).find(({ event }) => event.type === 'run-start')
  const run = start?.event.type === 'run-start' ? start.event.runId : ''
  for (const rating of ratings) await thread.feedback(run, rating)
  await app.close()
}
