import { describe, expect, test } from 'vitest'
import { fill, folder, hasSandbox, inside } from './sandbox.test-kit.ts'
import { sandboxDenial } from './sandbox.ts'

const root = '/home/ada/project'
const explain = (
  output: string,
  { exitCode = 1 as number | null, network = false as boolean | string[], deniedHosts = [] as string[] } = {},
) => sandboxDenial({ output, exitCode, network, deniedHosts, root })

describe('a failure caused by the sandbox is explained', () => {
  const cases: [output: string, words: string][] = [
    ["touch: cannot touch '/etc/x': Read-only file system", `only the workspace (${root}) and /tmp can be`],
    ['npm error code EROFS', 'only the workspace'],
    ["OSError: [Errno 30] Read-only file system: '/home/ada/.cache'", 'only the workspace'],
    [
      "fatal: Unable to create '/repo/.git/worktrees/a/index.lock': Read-only file system",
      'only the workspace',
    ],
    ['error: could not write config file .git/config: Device or resource busy', 'git hooks and config'],
    ["touch: cannot touch '.git/hooks/pre-commit': Read-only file system", 'git hooks and config'],
    ["mv: cannot move '.git' to 'old': Device or resource busy", 'git hooks and config'],
    [
      "fatal: cannot copy '/t/description' to '/p/.git/description': Read-only file system",
      'git repositories cannot be created',
    ],
    ['fatal: cannot mkdir /p/.git/refs: Read-only file system', 'git repositories cannot be created'],
    ["rm: cannot remove 'vendor/.git/config': Device or resource busy", 'git hooks and config'],
    ['bash: line 1: .npmrc: Read-only file system', 'files that make tools run code'],
    [
      "Error: EROFS: read-only file system, open '/p/.vscode/settings.json'",
      'files that make tools run code',
    ],
    ["error: unable to unlink old '.npmrc': Device or resource busy", 'files that make tools run code'],
    ['curl: (6) Could not resolve host: example.com', 'there is no network here. Continue'],
    ['npm error request to https://r failed, reason: getaddrinfo EAI_AGAIN r', 'there is no network'],
    ["Temporary failure resolving 'mirror.example.org'", 'there is no network'],
    ['connect: Network is unreachable', 'there is no network'],
    ['Error: connect ECONNREFUSED 127.0.0.1:5432', 'servers that the same command has started'],
    ['sudo: The "no new privileges" flag is set, which prevents sudo from running as root.', 'without sudo'],
    ['Cannot connect to the Docker daemon at unix:///var/run/docker.sock.', 'docker'],
  ]
  test.each(cases)('%s', (output, words) => {
    const note = explain(`first\n${output}\nlast\n`)
    expect(note).toMatch(/^\[The sandbox denied this, not the system: .*\.\]$/)
    expect(note).toContain(words)
  })

  test('even if a signal ended the command', () => {
    expect(explain('EROFS', { exitCode: null })).toContain('only the workspace')
  })
})

test('other failures and successes are not explained', () => {
  expect(explain('Permission denied')).toBeUndefined()
  expect(explain("mv: cannot move 'a' to 'b': Device or resource busy")).toBeUndefined()
  expect(explain('AssertionError: 1 !== 2')).toBeUndefined()
  expect(explain('it says: Read-only file system', { exitCode: 0 })).toBeUndefined()
})

test('a possible failure inside a successful line is explained with an if', () => {
  const output = 'npm error code EAI_AGAIN'
  const note = sandboxDenial({ output, exitCode: 0, isMasked: true, network: false, root })
  expect(note).toMatch(/^\[If that failed, the sandbox is the cause: there is no network here/)
})

test('in read-only mode the explanation says so', () => {
  const output = "touch: cannot touch '.git/config': Read-only file system"
  const note = sandboxDenial({ output, exitCode: 1, network: false, root, readOnly: true })
  expect(note).toContain('only /tmp can be written')
})

test('network failures are not explained if the network is allowed', () => {
  expect(explain('curl: (6) Could not resolve host: a', { network: true })).toBeUndefined()
  expect(explain('connect ECONNREFUSED 127.0.0.1:1', { network: true })).toBeUndefined()
  expect(explain('EROFS', { network: true })).toBeDefined()
})

test('the allowed hosts are listed', () => {
  const network = ['a.test', '*.b.test']
  expect(explain('curl: (56) CONNECT tunnel failed', { network, deniedHosts: ['c.test'] })).toBe(
    '[The sandbox denied this, not the system: c.test cannot be reached from here, only a.test, *.b.test. Continue without, or ask the user to allow it.]',
  )
  expect(explain('Could not resolve host: a.test', { network })).toContain(
    'only a.test, *.b.test can be reached, and only through the proxy',
  )
  expect(explain('connect ECONNREFUSED 127.0.0.1:1', { network })).toContain(
    'servers that the same command has started',
  )
  expect(explain('fine', { exitCode: 0, network, deniedHosts: ['c.test'] })).toBeUndefined()
})

test('a very long line is matched quickly', () => {
  expect(explain(".git' ".repeat(200_000))).toBeUndefined()
})

describe.skipIf(!hasSandbox)('messages of real programs are recognized', () => {
  test.each([
    ['echo x > /usr/x', 'only the workspace'],
    ['node -e \'require("fs").writeFileSync("/usr/x", "")\'', 'only the workspace'],
    ['node -e \'fetch("http://example.com")\'', 'there is no network'],
    ['exec 3<>/dev/tcp/127.0.0.1/9', 'servers that the same command has started'],
    ['exec 3<>/dev/tcp/192.0.2.1/9', 'there is no network'],
    ['echo x > .git/config', 'git hooks and config'],
    ['rm -r .git', 'git hooks and config'],
  ])('%s', async (line, words) => {
    const workspace = fill(folder(), { '.git/config': '' })
    const { output, exitCode } = await inside(line, { root: workspace })
    expect(sandboxDenial({ output, exitCode, network: false, root: workspace })).toContain(words)
  })
})
