import { renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agent } from '../packages/millrace/src/agent/index.ts'
import type { RunEvent } from '../packages/millrace/src/protocol/index.ts'
import type { ScriptStep } from '../packages/millrace/src/testing/index.ts'
import { scriptedModel } from '../packages/millrace/src/testing/index.ts'
import { beside } from '../packages/tools/src/files/files.test-kit.ts'
import { canHold } from '../packages/tools/src/files/folder.ts'
import { permission } from '../packages/tools/src/index.ts'
import { hasSandbox } from '../packages/tools/src/shell/sandbox/sandbox.test-kit.ts'
import { careful, harmless, openWorld, resultsIn, told, type World, wordsOf } from './escapes-world.ts'

let world: World
beforeAll(async () => {
  world = await openWorld({ sandbox: hasSandbox ? 'required' : 'off' })
})
afterAll(() => world.close())

/**
 * Puts now a file, now a link to the secret at `spot`; now a folder, now a link to the one outside at `room`; now a file, now a link to
 * one that a rule forbids at `corner`.
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

/** Each call is another, or the agent would be told that it goes in a circle. */
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

// Where folders cannot be held open, a write between two looks cannot be ruled out.
describe.runIf(canHold)('while another process swaps files and folders for links', () => {
  test('hundreds of calls never lead out, and both sides of the race are seen', async () => {
    const model = scriptedModel((_, index) => (index < rounds ? round(index) : 'Done.'))
    const coder = agent({ model, tools: world.tools, permission: careful, maxRounds: rounds + 1 })
    const events = await harmless(world, () =>
      beside(swapping, [world.workspace, world.outside], () => told(coder.stream('Go.'))),
    )
    const results = resultsIn(events)
    expect(results).toHaveLength(rounds * round(0).length)
    const reads = results.filter(({ name }) => name === 'read_file')
    expect(reads.some(({ isError }) => isError)).toBe(true)
    expect(reads.some((read) => /inside|edited/.test(wordsOf(read)))).toBe(true)
    expect(JSON.stringify(results)).not.toContain('deep.txt')
  })

  test.runIf(hasSandbox)('nor do commands in the sandbox', async () => {
    const calls = Array.from({ length: 25 }, (_, index): ScriptStep => {
      return {
        call: 'shell',
        input: { command: `echo ${index} > spot; echo ${index} > room/secret.txt; echo "$(<spot)"` },
      }
    })
    const everything = permission({ allow: ['run', 'read', 'write'] })
    const model = scriptedModel([calls, 'Done.'])
    const coder = agent({ model, tools: world.tools, permission: everything })
    const events: RunEvent[] = await harmless(world, () =>
      beside(swapping, [world.workspace, world.outside], () => told(coder.stream('Go.'))),
    )
    expect(resultsIn(events)).toHaveLength(calls.length)
  })
})

describe('while a person thinks about it', () => {
  const asking = () => permission({ allow: ['read(**)'], deny: ['write(**/.git)'] })
  const swap = (target: string) => {
    symlinkSync(target, join(world.workspace, 'swapped'))
    renameSync(join(world.workspace, 'swapped'), join(world.workspace, 'place'))
  }
  const wants = (path: string) =>
    agent({
      model: scriptedModel([[{ call: 'write_file', input: { path, content: 'owned\n' } }], 'Done.', 'Done.']),
      tools: world.tools,
      permission: asking(),
    })

  test.each([
    ['a link to a folder inside comes to lead outside', '../outside', /workspace/],
    ['it comes to lead where a rule forbids it', '.git', /not allowed here/],
    ['it comes to lead to another folder', 'bin', /has changed since it was approved/],
  ])('%s, and what was approved is not done', async (_, target, words) => {
    swap('src')
    const run = wants('place/hooks').stream('Go.')
    const { approvals, outcome } = await run.result
    expect([outcome, approvals[0]?.remember?.rules]).toEqual(['suspended', ['write(src/hooks)']])
    swap(target)
    const events = await harmless(world, () => told(run.resume({ callId: 'call_1', approved: true })))
    const [result] = resultsIn(events)
    expect(result?.isError).toBe(true)
    expect(wordsOf(result)).toMatch(words)
  })

  test('a file that becomes a link is not written through', async () => {
    writeFileSync(join(world.workspace, 'plain'), 'inside\n')
    const run = wants('plain').stream('Go.')
    await run.result
    symlinkSync('../outside/secret.txt', join(world.workspace, 'next-plain'))
    renameSync(join(world.workspace, 'next-plain'), join(world.workspace, 'plain'))
    const [result] = resultsIn(
      await harmless(world, () => told(run.resume({ callId: 'call_1', approved: true }))),
    )
    expect(result?.isError).toBe(true)
  })
})
