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
])('%s leaves something behind: %j', (line, expected) => {
  expect(leavesBehind(line)).toBe(expected)
})

describe.skipIf(!hasSandbox)('in the sandbox the model is told', () => {
  test('that what was put in the background has ended', async () => {
    await using shell = testShell({ sandbox: 'required' })
    expect(await shell.run({ command: 'sleep 1000 & echo started' })).toMatch(
      /^started\n\[what it put in the background with & ended with it: use background: true/,
    )
  })

  test('that nobody else reaches a server in the background, unless there is a network', async () => {
    await using shell = testShell({ sandbox: 'required' })
    expect(await shell.run({ command: 'sleep 1000', background: true })).toContain(
      'no other command reaches it',
    )
    await using open = testShell({ sandbox: 'required', network: true })
    expect(await open.run({ command: 'sleep 1000', background: true })).not.toContain('no other command')
  })

  test('of the network also where the end of a pipe hides the failure', async () => {
    await using shell = testShell({ sandbox: 'required' })
    const command = 'echo "npm error getaddrinfo EAI_AGAIN registry" | tail -1'
    expect(await shell.run({ command })).toContain(
      '[If that is a failure, it is the sandbox: there is no network',
    )
  })
})
