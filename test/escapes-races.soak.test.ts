import { renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agent } from '../packages/millrace/src/agent/index.ts'
import type { RunEvent } from '../packages/millrace/src/protocol/index.ts'
import type { ScriptStep } from '../packages/millrace/src/testing/index.ts'
import { scriptedModel } from '../packages/millrace/src/testing/index.ts'
import { whileRunning } from '../packages/tools/src/files/files.test-kit.ts'
import { canHold } from '../packages/tools/src/files/folder.ts'
import { permission } from '../packages/tools/src/index.ts'
import { hasSandbox } from '../packages/tools/src/shell/sandbox/sandbox.test-kit.ts'
import {
  careful,
  collectEvents,
  expectHarmless,
  type Fixture,
  openFixture,
  resultsIn,
  wordsOf,
} from './escapes-fixture.ts'

let fixture: Fixture
beforeAll(async () => {
  fixture = await openFixture({ sandbox: hasSandbox ? 'required' : 'off' })
})
afterAll(() => fixture.close())

/**
 * Swaps a file with a link to the secret at `spot`, a folder with a link to the one outside at
 * `room`, and a file with a link to a denied file at `corner`.
 */
const swapping = `
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
const [, workspace, outside] = process.argv
process.chdir(workspace)
process.stdout.write('begun\\n')
const attempt = (work) => { try { work() } catch {} }
for (;;) {
  attempt(() => symlinkSync('.env', 'next'))
  attempt(() => renameSync('next', 'corner'))
  attempt(() => writeFileSync('next', 'inside\\n', { flag: 'wx' }))
  attempt(() => renameSync('next', 'corner'))
  attempt(() => symlinkSync(outside + '/secret.txt', 'next'))
  attempt(() => renameSync('next', 'spot'))
  attempt(() => { rmSync('room', { recursive: true, force: true }); symlinkSync(outside, 'room') })
  attempt(() => writeFileSync('next', 'inside\\n', { flag: 'wx' }))
  attempt(() => renameSync('next', 'spot'))
  attempt(() => { rmSync('room', { recursive: true, force: true }); mkdirSync('room'); writeFileSync('room/secret.txt', 'inside\\n') })
}`

const rounds = 40

/** Each tool call is different, or the agent would stop repeated calls. */
const round = (index: number): ScriptStep[] => {
  const dots = './'.repeat(index % 50)
  return ['spot', 'room/secret.txt', 'corner'].flatMap((path): ScriptStep[] => [
    { call: 'read_file', input: { path: dots + path } },
    { call: 'edit_file', input: { path: dots + path, old_text: 'SECRET', new_text: `owned ${index}` } },
    { call: 'edit_file', input: { path: dots + path, old_text: 'inside', new_text: `edited ${index}` } },
    { call: 'write_file', input: { path: dots + path, content: `inside ${index}\n` } },
    { call: 'search_files', input: { path: dots + path, pattern: 'SECRET|inside' } },
    { call: 'list_files', input: { path: `${dots}room`, depth: 2 } },
  ])
}

// Where folders cannot be held open, a write between two checks cannot be ruled out.
describe.runIf(canHold)('while another process swaps files and folders for links', () => {
  test('hundreds of tool calls never leave the workspace, and both sides of the race occur', async () => {
    const model = scriptedModel((_, index) => (index < rounds ? round(index) : 'Done.'))
    const coder = agent({ model, tools: fixture.tools, permission: careful, maxRounds: rounds + 1 })
    const events = await expectHarmless(fixture, () =>
      whileRunning(swapping, [fixture.workspace, fixture.outside], () => collectEvents(coder.stream('Go.'))),
    )
    const results = resultsIn(events)
    expect(results).toHaveLength(rounds * round(0).length)
    const reads = results.filter(({ name }) => name === 'read_file')
    expect(reads.some(({ isError }) => isError)).toBe(true)
    expect(reads.some((read) => /inside|edited/.test(wordsOf(read)))).toBe(true)
    expect(JSON.stringify(results)).not.toContain('deep.txt')
  })

  test.runIf(hasSandbox)('commands in the sandbox never leave the workspace either', async () => {
    const calls = Array.from({ length: 25 }, (_, index): ScriptStep => {
      return {
        call: 'shell',
        input: { command: `echo ${index} > spot; echo ${index} > room/secret.txt; echo "$(<spot)"` },
      }
    })
    const everything = permission({ allow: ['run', 'read', 'write'] })
    const model = scriptedModel([calls, 'Done.'])
    const coder = agent({ model, tools: fixture.tools, permission: everything })
    const events: RunEvent[] = await expectHarmless(fixture, () =>
      whileRunning(swapping, [fixture.workspace, fixture.outside], () => collectEvents(coder.stream('Go.'))),
    )
    expect(resultsIn(events)).toHaveLength(calls.length)
  })
})

describe('while an approval is pending', () => {
  const asking = () => permission({ allow: ['read(**)'], deny: ['write(**/.git)'] })
  const swap = (target: string) => {
    symlinkSync(target, join(fixture.workspace, 'swapped'))
    renameSync(join(fixture.workspace, 'swapped'), join(fixture.workspace, 'place'))
  }
  const wants = (path: string) =>
    agent({
      model: scriptedModel([[{ call: 'write_file', input: { path, content: 'owned\n' } }], 'Done.', 'Done.']),
      tools: fixture.tools,
      permission: asking(),
    })

  test.each([
    ['a link to a folder inside is changed to the outside', '../outside', /workspace/],
    ['a link is changed to a denied folder', '.git', /not allowed here/],
    ['a link is changed to another folder', 'bin', /has changed since it was approved/],
  ])('%s, and the approved call does not run', async (_, target, words) => {
    swap('src')
    const run = wants('place/hooks').stream('Go.')
    const { approvals, outcome } = await run.result
    expect([outcome, approvals[0]?.remember?.rules]).toEqual(['suspended', ['write(src/hooks)']])
    swap(target)
    const events = await expectHarmless(fixture, () =>
      collectEvents(run.resume({ callId: 'call_1', approved: true })),
    )
    const [result] = resultsIn(events)
    expect(result?.isError).toBe(true)
    expect(wordsOf(result)).toMatch(words)
  })

  test('a file that becomes a link is not written through', async () => {
    writeFileSync(join(fixture.workspace, 'plain'), 'inside\n')
    const run = wants('plain').stream('Go.')
    await run.result
    symlinkSync('../outside/secret.txt', join(fixture.workspace, 'next-plain'))
    renameSync(join(fixture.workspace, 'next-plain'), join(fixture.workspace, 'plain'))
    const [result] = resultsIn(
      await expectHarmless(fixture, () => collectEvents(run.resume({ callId: 'call_1', approved: true }))),
    )
    expect(result?.isError).toBe(true)
  })
})
