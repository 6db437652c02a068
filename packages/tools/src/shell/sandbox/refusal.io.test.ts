import { describe, expect, test } from 'vitest'
import { fill, folder, hasSandbox, inside } from './sandbox.test-kit.ts'
import { sandboxRefusal } from './sandbox.ts'

const root = '/home/ada/project'
const told = (
  output: string,
  {
    exitCode = 1 as number | null,
    network = false as boolean | string[],
    refusedHosts = [] as string[],
  } = {},
) => sandboxRefusal({ output, exitCode, network, refusedHosts, root })

describe('a failure that the sandbox has caused is told as such', () => {
  const cases: [output: string, words: string][] = [
    ["touch: cannot touch '/etc/x': Read-only file system", `only the workspace (${root}) and /tmp can be`],
    ['npm error code EROFS', 'only the workspace'],
    ["OSError: [Errno 30] Read-only file system: '/home/ada/.cache'", 'only the workspace'],
    [
      "fatal: Unable to create '/repo/.git/worktrees/a/index.lock': Read-only file system",
      'only the workspace',
    ],
    [
      'error: could not write config file .git/config: Device or resource busy',
      'settings of the git repository',
    ],
    ["touch: cannot touch '.git/hooks/pre-commit': Read-only file system", 'settings of the git repository'],
    ["mv: cannot move '.git' to 'old': Device or resource busy", 'settings of the git repository'],
    [
      "fatal: cannot copy '/t/description' to '/p/.git/description': Read-only file system",
      'no git repository',
    ],
    ['fatal: cannot mkdir /p/.git/refs: Read-only file system', 'no git repository'],
    ["rm: cannot remove 'vendor/.git/config': Device or resource busy", 'settings of the git repository'],
    ['bash: line 1: .npmrc: Read-only file system', 'files that make tools run code'],
    [
      "Error: EROFS: read-only file system, open '/p/.vscode/settings.json'",
      'files that make tools run code',
    ],
    ["error: unable to unlink old '.npmrc': Device or resource busy", 'files that make tools run code'],
    ['curl: (6) Could not resolve host: example.com', 'there is no network here. Go on'],
    ['npm error request to https://r failed, reason: getaddrinfo EAI_AGAIN r', 'there is no network'],
    ["Temporary failure resolving 'mirror.example.org'", 'there is no network'],
    ['connect: Network is unreachable', 'there is no network'],
    ['Error: connect ECONNREFUSED 127.0.0.1:5432', 'what the same command has started'],
    ['sudo: The "no new privileges" flag is set, which prevents sudo from running as root.', 'without sudo'],
    ['Cannot connect to the Docker daemon at unix:///var/run/docker.sock.', 'docker'],
  ]
  test.each(cases)('%s', (output, words) => {
    const note = told(`first\n${output}\nlast\n`)
    expect(note).toMatch(/^\[The sandbox refused this, not the system: .*\.\]$/)
    expect(note).toContain(words)
  })

  test('also if a signal ended it', () => {
    expect(told('EROFS', { exitCode: null })).toContain('only the workspace')
  })
})

test('what failed by itself, or did not fail, is not', () => {
  expect(told('Permission denied')).toBeUndefined()
  expect(told("mv: cannot move 'a' to 'b': Device or resource busy")).toBeUndefined()
  expect(told('AssertionError: 1 !== 2')).toBeUndefined()
  expect(told('it says: Read-only file system', { exitCode: 0 })).toBeUndefined()
})

test('what failed inside a line that ended well is told with an if', () => {
  const output = 'npm error code EAI_AGAIN'
  const note = sandboxRefusal({ output, exitCode: 0, isMasked: true, network: false, root })
  expect(note).toMatch(/^\[If that is a failure, it is the sandbox: there is no network here/)
})

test('where nothing can be changed it says so', () => {
  const output = "touch: cannot touch '.git/config': Read-only file system"
  const note = sandboxRefusal({ output, exitCode: 1, network: false, root, readOnly: true })
  expect(note).toContain('only /tmp can be written')
})

test('nor is the network, where it is allowed', () => {
  expect(told('curl: (6) Could not resolve host: a', { network: true })).toBeUndefined()
  expect(told('connect ECONNREFUSED 127.0.0.1:1', { network: true })).toBeUndefined()
  expect(told('EROFS', { network: true })).toBeDefined()
})

test('which hosts there are is told where some are allowed', () => {
  const network = ['a.test', '*.b.test']
  expect(told('curl: (56) CONNECT tunnel failed', { network, refusedHosts: ['c.test'] })).toBe(
    '[The sandbox refused this, not the system: c.test may not be reached from here, only a.test, *.b.test. Go on without, or ask the user to allow it.]',
  )
  expect(told('Could not resolve host: a.test', { network })).toContain(
    'only a.test, *.b.test can be reached, and only through the proxy',
  )
  expect(told('connect ECONNREFUSED 127.0.0.1:1', { network })).toContain('what the same command has started')
  expect(told('fine', { exitCode: 0, network, refusedHosts: ['c.test'] })).toBeUndefined()
})

test('a long line without an end is looked at quickly enough', () => {
  expect(told(".git' ".repeat(200_000))).toBeUndefined()
})

describe.skipIf(!hasSandbox)('what programs really say is known', () => {
  test.each([
    ['echo x > /usr/x', 'only the workspace'],
    ['node -e \'require("fs").writeFileSync("/usr/x", "")\'', 'only the workspace'],
    ['node -e \'fetch("http://example.com")\'', 'there is no network'],
    ['exec 3<>/dev/tcp/127.0.0.1/9', 'what the same command has started'],
    ['exec 3<>/dev/tcp/192.0.2.1/9', 'there is no network'],
    ['echo x > .git/config', 'settings of the git repository'],
    ['rm -r .git', 'settings of the git repository'],
  ])('%s', async (line, words) => {
    const workspace = fill(folder(), { '.git/config': '' })
    const { output, exitCode } = await inside(line, { root: workspace })
    expect(sandboxRefusal({ output, exitCode, network: false, root: workspace })).toContain(words)
  })
})
