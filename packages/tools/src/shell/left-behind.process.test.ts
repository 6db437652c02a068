import { describe, expect, test } from 'vitest'
import { leavesBehind } from './left-behind.ts'
import { hasSandbox } from './sandbox/sandbox.test-kit.ts'
import { testShell } from './shell.test-kit.ts'

test.each([
  ['npm run dev &', true],
  ['(sleep 9 &) ; echo done', true],
  ['a & b & wait', false],
  ['server & sleep 1; curl x; kill %1', false],
  ['a && b 2>&1 | c', false],
  ['echo "a &"', false],
])('%s leaves background jobs: %j', (line, expected) => {
  expect(leavesBehind(line)).toBe(expected)
})

describe.skipIf(!hasSandbox)('in the sandbox the result says', () => {
  test('that background jobs have ended', async () => {
    await using shell = testShell({ sandbox: 'required' })
    expect(await shell.run({ command: 'sleep 1000 & echo started' })).toMatch(
      /^started\n\[processes started with & ended with the command: use background: true/,
    )
  })

  test('that other commands cannot reach a background server, unless there is a network', async () => {
    await using shell = testShell({ sandbox: 'required' })
    expect(await shell.run({ command: 'sleep 1000', background: true })).toContain(
      'other commands cannot reach it',
    )
    await using open = testShell({ sandbox: 'required', network: true })
    expect(await open.run({ command: 'sleep 1000', background: true })).not.toContain('other commands cannot')
  })

  test('that there is no network, even if a pipe hides the failure', async () => {
    await using shell = testShell({ sandbox: 'required' })
    const command = 'echo "npm error getaddrinfo EAI_AGAIN registry" | tail -1'
    expect(await shell.run({ command })).toContain(
      '[If that failed, the sandbox is the cause: there is no network',
    )
  })
})
