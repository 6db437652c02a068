import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { rulesFor } from '../examples/coding-agent/tools.ts'
import { plainEnv, run } from './processes.ts'
import { root } from './root.ts'

const example = join('examples', 'coding-agent')
const linesOf = (file: string) =>
  readFileSync(join(root, example, file), 'utf8')
    .trimEnd()
    .split('\n').length

test('the coding agent with its tools and rules has fewer than a hundred lines', () => {
  expect(linesOf('main.ts') + linesOf('tools.ts')).toBeLessThan(100)
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
