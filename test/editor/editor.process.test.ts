import { mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { processesWith, until } from '../../packages/tools/src/shell/shell.test-kit.ts'
import { bundled } from '../bundle.ts'
import { run } from '../processes.ts'
import { root } from '../root.ts'
import { startEditor } from './start-editor.ts'

const agents = await bundled(fileURLToPath(new URL('./agents.ts', import.meta.url)))

function newFolder(): string {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-acp-')))
  writeFileSync(join(cwd, 'a.txt'), 'saved\n')
  writeFileSync(join(cwd, '.env'), 'SECRET-7\n')
  return cwd
}

const start = () => startEditor(agents, { cwd: newFolder() })

/** What the agent is asked to do. */
const calls = (...list: readonly (readonly [call: string, input: object])[]) =>
  JSON.stringify(list.map(([call, input]) => ({ call, input })))

test('the agent reads and edits what is not saved yet, and the editor shows where and what', async () => {
  const editor = await start()
  editor.type('a.txt', 'first\ntyped\n')
  const edit = { path: 'a.txt', old_text: 'typed', new_text: 'edited' }
  const answered = editor.prompt(calls(['read_file', { path: 'a.txt' }], ['edit_file', edit]))
  await editor.allow()
  expect(await answered).toMatchObject({ stopReason: 'end_turn' })
  const path = join(editor.cwd, 'a.txt')
  expect(readFileSync(path, 'utf8')).toBe('first\nedited\n')
  expect(editor.unsaved('a.txt')).toBeUndefined()
  expect(editor.text()).toContain('     2\ttyped')
  const diff = { type: 'diff', path, oldText: 'typed', newText: 'edited' }
  expect(editor.questions).toMatchObject([
    {
      toolCall: {
        ...{ kind: 'edit', title: 'Edit a.txt', locations: [{ path }] },
        content: expect.arrayContaining([diff]),
      },
    },
  ])
  expect(editor.calls()).toMatchObject([
    { kind: 'read', title: 'Read a.txt', status: 'completed', locations: [{ path }] },
    { kind: 'edit', status: 'completed', locations: [{ path, line: 2 }], content: [diff] },
  ])
})

test('the agent cannot reach through the editor what its rules deny', async () => {
  const editor = await start()
  await editor.prompt(
    calls(
      ['read_file', { path: '.env' }],
      ['write_file', { path: '.env', content: 'x' }],
      ['read_file', { path: '../../etc/passwd' }],
    ),
  )
  expect(editor.calls().map(({ status }) => status)).toEqual(['failed', 'failed', 'failed'])
  expect([editor.asked, editor.questions]).toEqual([[], []])
})

test('a command runs in a terminal that the editor shows, and its output reaches the model', async () => {
  const editor = await start()
  const command = "printf 'it is %s\\n' here; exit 3"
  await editor.prompt(calls(['shell', { command }]))
  const content = [{ type: 'terminal', terminalId: 'term_1' }]
  expect(editor.calls()).toMatchObject([
    { kind: 'execute', title: command, status: 'completed', rawInput: { command }, content },
  ])
  expect(editor.text()).toMatch(/it is here\n\[exit code 3 after/)
  expect(editor.terminals.map(({ released }) => released)).toEqual([true])
})

test('canceling the prompt ends the command, with everything it started, and releases the terminal', async () => {
  const editor = await start()
  const answered = editor.prompt(calls(['shell', { command: 'setsid sleep 1000 & sleep 1000' }]))
  // The rules cannot see what setsid starts.
  await editor.allow()
  const sleeping = () => processesWith(editor.cwd).filter((line) => line === 'sleep 1000')
  await until(() => sleeping().length >= 2)
  await editor.cancel()
  expect(await answered).toMatchObject({ stopReason: 'cancelled' })
  await until(() => editor.terminals.every(({ released }) => released))
  await until(() => sleeping().length === 0)
})

test.each(['close', 'kill'] as const)('after %s, no command is left behind', async (end) => {
  const editor = await start()
  void editor.prompt(calls(['shell', { command: 'sleep 1000' }])).catch(() => {})
  await until(() => processesWith(editor.cwd).includes('sleep 1000'))
  await editor[end]()
  await until(() => !processesWith(editor.cwd).includes('sleep 1000'))
})

test('acpx reads, writes and runs for the agent', async () => {
  const cwd = newFolder()
  const script = join(cwd, 'agent.sh')
  const main = join(root, 'packages/millrace/bin/millrace.js')
  const command = [process.execPath, main, 'acp', agents, '--data', join(cwd, '.millrace.db')]
  writeFileSync(script, `exec ${command.map((word) => `'${word}'`).join(' ')}\n`)
  const { stdout, exit } = await run(
    process.execPath,
    [
      ...[join(root, 'node_modules/acpx/dist/cli.js'), '--agent', `/bin/sh ${script}`, '--approve-all'],
      'exec',
      calls(
        ['edit_file', { path: 'a.txt', old_text: 'saved', new_text: 'edited' }],
        ['shell', { command: "printf '%s\\n' 'two  words' | tr a-z A-Z" }],
      ),
    ],
    { cwd, env: { PATH: process.env.PATH, HOME: cwd } },
  )
  expect(exit).toBe(0)
  expect(stdout).toMatch(/fs\/write_text_file.*terminal\/create|terminal\/create.*fs\/write_text_file/s)
  expect(stdout).toContain('TWO  WORDS\n[exit code 0')
  expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('edited\n')
})
