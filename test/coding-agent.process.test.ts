import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { rulesFor } from '../examples/coding-agent/tools.ts'
import { homeWith, main } from '../packages/millrace/src/cli/cli.test-kit.ts'
import { editorOver } from '../packages/tools/src/acp/editor.test-kit.ts'
import { plainEnv, run } from './processes.ts'
import { root } from './root.ts'

const example = join('examples', 'coding-agent')
const linesOf = (file: string) =>
  readFileSync(join(root, example, file), 'utf8')
    .trimEnd()
    .split('\n').length

test('the coding agent with its tools and rules has fewer than a hundred lines', () => {
  expect(linesOf('agents.ts') + linesOf('coder.ts') + linesOf('tools.ts')).toBeLessThan(100)
})

test('remembered permissions are stored where the agent cannot write', () => {
  const { memory } = rulesFor('/srv/project')
  expect(memory?.file).toMatch(/\.json$/)
  expect(memory?.file).not.toMatch(/^\/srv\/project/)
})

test('without a key it edits a file, runs the tests for real, and reports', async () => {
  const { stdout, exit } = await run(process.execPath, [join(example, 'main.ts')], {
    cwd: root,
    env: plainEnv(),
  })
  expect(exit).toBe(0)
  const [, workspace = ''] = /^Working in (.*)\.$/m.exec(stdout) ?? []
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }))
  expect(stdout).toMatch(
    /exit code 1 .*Edited hours\.js.*fail 0.*exit code 0 .*Both tests pass now\.\s+\(completed\)\s*$/s,
  )
  // Checked in the file, not in its report.
  execFileSync(process.execPath, ['--test'], { cwd: workspace, env: plainEnv() })
  expect(readFileSync(join(workspace, 'hours.js'), 'utf8')).toContain('minute >= from || minute < to')
})

test('without bubblewrap it says that its commands have no sandbox', async () => {
  const bin = mkdtempSync(join(tmpdir(), 'millrace-bin-'))
  onTestFinished(() => rmSync(bin, { recursive: true }))
  symlinkSync(process.execPath, join(bin, 'node'))
  const { stdout, stderr, exit } = await run(process.execPath, [join(example, 'main.ts')], {
    cwd: root,
    env: { ...plainEnv(), PATH: bin },
  })
  const [, workspace = ''] = /^Working in (.*)\.$/m.exec(stdout) ?? []
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }))
  expect(exit).toBe(0)
  expect(stderr).toContain(
    'Commands run without a sandbox, with all permissions of your user: bubblewrap is not',
  )
})

test('in an editor its agents file reads and writes what the editor has open', async () => {
  const edit = {
    path: 'hours.js',
    old_text: 'return minute >= from && minute < to',
    new_text: 'return from <= to ? minute >= from && minute < to : minute >= from || minute < to',
  }
  const home = await homeWith([
    [{ text: 'Let me look.' }, { call: 'read_file', input: { path: 'hours.js' } }],
    [{ call: 'edit_file', input: edit }],
    [{ call: 'shell', input: { command: 'node --test' } }],
    'Fixed.',
  ])
  const workspace = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-editor-')))
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }))
  cpSync(join(root, example, 'project'), workspace, { recursive: true })
  const child = spawn(process.execPath, [main, 'acp', join(root, example, 'agents.ts')], {
    cwd: workspace,
    env: home.env,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  // A change that is not saved yet.
  const path = join(workspace, 'hours.js')
  const buffers = new Map([[path, `// unsaved\n${readFileSync(path, 'utf8')}`]])
  const one = editorOver(
    { input: child.stdout, output: child.stdin },
    {
      cwd: workspace,
      capabilities: { fs: { readTextFile: true, writeTextFile: true } },
      extend: (app) =>
        app
          .onRequest('fs/read_text_file', ({ params: { path } }) => ({
            content: buffers.get(path) ?? readFileSync(path, 'utf8'),
          }))
          .onRequest('fs/write_text_file', ({ params: { path, content } }) => {
            buffers.set(path, content)
            writeFileSync(path, content)
          }),
    },
  )
  const sessionId = await one.open()
  expect(await one.prompt(sessionId, 'A test fails.')).toEqual({ stopReason: 'end_turn' })
  expect(one.calls()).toMatchObject([
    { kind: 'read', status: 'completed', locations: [{ path }] },
    { kind: 'edit', status: 'completed', content: [{ type: 'diff', path }] },
    { kind: 'execute', status: 'completed', title: 'node --test' },
  ])
  expect(one.text()).toContain('Fixed.')
  expect(readFileSync(path, 'utf8')).toMatch(/^\/\/ unsaved\n.*from <= to/s)
  child.stdin.end()
  expect((await exited)[0]).toBe(0)
})
