import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, vi } from 'vitest'
import { agent } from '../packages/millrace/src/agent/index.ts'
import type { JsonObject, RunEvent, ToolResultEvent } from '../packages/millrace/src/protocol/index.ts'
import { scriptedModel } from '../packages/millrace/src/testing/index.ts'
import type { Policy, Tool, Toolbox } from '../packages/millrace/src/tools/index.ts'
import { files, permission, shell, webFetch } from '../packages/tools/src/index.ts'
import { type Network, network } from './escapes-network.ts'

/**
 * A tool call of a hostile model. OUTSIDE, WORKSPACE, PRIVATE, PUBLIC and TOKEN in its texts are
 * replaced.
 */
export type Call = readonly [tool: string, input: JsonObject]

/** A name and tool calls: the last is the attempt, those before it prepare it. */
export type Row = readonly [name: string, ...calls: Call[]]

export type Fixture = Awaited<ReturnType<typeof openFixture>>

/**
 * The rules of a careful coding agent: it works on its files, runs harmless commands, and never
 * asks.
 */
export const careful = permission({
  allow: [
    ...['read(**)', 'write(**)', 'fetch'],
    ...['echo *', 'ls *', 'cd *', 'git status *', 'git log *', 'git diff'].map(
      (command) => `run(${command})`,
    ),
  ],
  deny: [
    ...['read(**/.env*)', 'write(**/.env*)', 'write(**/.git)', 'fetch(denied.example.test)'],
    ...['sudo *', 'git push *', 'rm *'].map((command) => `run(${command})`),
  ],
  otherwise: 'deny',
})

interface FixtureOptions {
  readonly sandbox?: 'off' | 'required'
  /**
   * Where the workspace and the files outside of it are created; the temporary folder by default.
   */
  readonly parent?: string
}

/** A workspace, and files around it that must not change. */
export async function openFixture({ sandbox = 'off', parent = tmpdir() }: FixtureOptions = {}) {
  mkdirSync(parent, { recursive: true })
  const base = realpathSync(mkdtempSync(join(parent, 'escapes-')))
  const [workspace, outside, home] = ['workspace', 'outside', 'home'].map((name) => join(base, name)) as [
    string,
    string,
    string,
  ]
  const secret = `SECRET-${randomUUID()}`
  const token = randomUUID()
  const net: Network = await network()
  // A key in the environment of the agent's process.
  vi.stubEnv('PROVIDER_API_KEY', secret)
  vi.stubEnv('HOME', home)
  // Created once and copied: running git for each attempt would be slow.
  const places: Places = { workspace, outside, home, secret, repository: `${base}.git` }
  createFiles(places)
  const box = shell({ workspace, sandbox, graceMs: 100, env: { WORLD: token } })
  const tools: (Tool | Toolbox)[] = [
    files({ workspace }),
    box,
    webFetch({ lookup: net.lookup, allow: net.allowed, timeoutMs: 5_000 }),
  ]

  const filled = (call: Call): { call: string; input: JsonObject } => {
    const names: Record<string, unknown> = {
      OUTSIDE: outside,
      WORKSPACE: workspace,
      PRIVATE: net.privatePort,
      PUBLIC: net.publicPort,
      TOKEN: token,
    }
    const text = JSON.stringify(call[1]).replace(/OUTSIDE|WORKSPACE|PRIVATE|PUBLIC|TOKEN/g, (name) =>
      String(names[name]),
    )
    return { call: call[0], input: JSON.parse(text) }
  }

  /** A model that makes these tool calls, each in its own round. */
  const model = (calls: readonly Call[]) => scriptedModel([...calls.map((call) => [filled(call)]), 'Done.'])

  return {
    ...{ base, workspace, outside, secret, token, tools, net, filled, model },
    /** Runs an agent whose model makes these tool calls. */
    async run(calls: readonly Call[], policy: Policy | null = careful): Promise<RunEvent[]> {
      return collectEvents(
        agent({ model: model(calls), tools, ...(policy && { permission: policy }) }).stream('Go.'),
      )
    },
    /** Everything that must not change. */
    around: () => [
      ...treeOf(base, (path) => path !== workspace),
      ...['.git/hooks', '.env']
        .map((name) => join(workspace, name))
        .flatMap((path) => {
          if (!existsSync(path)) return 'gone'
          return path.endsWith('.env') ? readFileSync(path, 'utf8') : treeOf(path)
        }),
    ],
    /** Processes left by commands: all of them have the token in their environment or arguments. */
    left: () => processesWith(token),
    restore: () => createFiles(places),
    async close() {
      await box.close()
      await net.close()
      vi.unstubAllEnvs()
      for (const folder of [base, places.repository]) rmSync(folder, { recursive: true, force: true })
    },
  }
}

export async function collectEvents(run: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const events: RunEvent[] = []
  for await (const event of run) events.push(event)
  return events
}

export function resultsIn(events: readonly RunEvent[]): ToolResultEvent[] {
  return events.filter((event) => event.type === 'tool-result')
}

export function wordsOf(result: ToolResultEvent | undefined): string {
  return (result?.output ?? []).map((part) => (part.type === 'text' ? part.text : part.type)).join('')
}

/**
 * Runs the attempt and checks that it had no effect: nothing changed, leaked, requested or left
 * running.
 */
export async function expectHarmless<Result>(
  fixture: Fixture,
  attempt: () => Promise<Result>,
): Promise<Result> {
  const before = fixture.around()
  const events = await attempt()
  expect(fixture.around()).toEqual(before)
  expect(JSON.stringify(events)).not.toContain(fixture.secret)
  expect(fixture.net.seen()).toEqual([])
  await vi.waitUntil(() => fixture.left().length === 0, { timeout: 20_000 })
  return events
}

/** The same, and checks that the model gets a clear error. Returns the tool result. */
export async function expectRejected(
  fixture: Fixture,
  [, ...calls]: Row,
  policy?: Policy,
): Promise<ToolResultEvent> {
  const events = await expectHarmless(fixture, () => fixture.run(calls, policy))
  const results = resultsIn(events)
  const last = results.at(-1) as ToolResultEvent
  expect(results.slice(0, -1).filter(({ isError }) => isError)).toEqual([])
  expect(results).toHaveLength(calls.length)
  expectClearError(last)
  // Redirection targets are shown resolved, as the rules see them; everything else as the model
  // wrote it.
  const wrote = JSON.stringify(calls.map(fixture.filled))
  if (last.name !== 'shell' && !wrote.includes(fixture.outside))
    expect(wordsOf(last)).not.toContain(fixture.outside)
  return last
}

/** Checks that the call did not run or failed, with a sentence instead of a stack trace. */
export function expectClearError(result: ToolResultEvent) {
  expect(result).toMatchObject({
    isError: true,
    status: expect.stringMatching(/^(blocked|failed|rejected)$/),
  })
  expect(wordsOf(result)).toMatch(/^(Not run|The tool failed): \S.{10,}/s)
  expect(wordsOf(result)).not.toMatch(/\n\s+at |node:internal|\.ts:\d/)
}

/** Names, types, permissions, times and contents of everything below a folder. */
function treeOf(folder: string, wanted: (path: string) => boolean = () => true): string[] {
  const { mode, nlink, mtimeNs, ctimeNs } = lstatSync(folder, { bigint: true })
  const itself = [folder, mode, nlink, mtimeNs, ctimeNs].join(' ')
  const entries = readdirSync(folder, { withFileTypes: true }).map(
    (entry) => [join(folder, entry.name), entry] as const,
  )
  return [
    itself,
    ...entries
      .filter(([path]) => wanted(path))
      .flatMap(([path, entry]) => {
        if (entry.isDirectory()) return treeOf(path)
        const stats = lstatSync(path, { bigint: true })
        const content = entry.isFile() ? readFileSync(path, 'utf8') : 'no file'
        return [[path, stats.mode, stats.nlink, stats.mtimeNs, stats.ctimeNs, content].join(' ')]
      }),
  ]
}

interface Places {
  readonly workspace: string
  readonly outside: string
  readonly home: string
  readonly secret: string
  /** A copy of the workspace's repository, outside the base folder. */
  readonly repository: string
}

/** Creates or restores all files. */
function createFiles({ workspace, outside, home, secret, repository }: Places) {
  for (const folder of [workspace, outside, home]) rmSync(folder, { recursive: true, force: true })
  const put = (path: string, text: string, mode = 0o644) => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text, { mode })
  }
  put(join(outside, 'secret.txt'), `${secret}\n`)
  put(join(outside, 'folder', 'deep.txt'), `${secret}\n`)
  put(join(home, 'profile'), `${secret}\n`)
  put(join(workspace, 'a.txt'), 'inside\n')
  put(join(workspace, 'src', 'b.txt'), 'inside too\n')
  put(join(workspace, '.env'), `KEY=${secret}\n`)
  // A project may have its own programs. These write the marker.
  put(join(workspace, 'bin', 'ls'), `#!/bin/sh\n/usr/bin/touch ${outside}/marker\n`, 0o755)
  if (!existsSync(repository)) makeRepository(workspace, repository)
  cpSync(repository, join(workspace, '.git'), { recursive: true })
  mkdirSync(join(workspace, '.git', 'hooks'), { recursive: true })
  writeFileSync(join(workspace, 'a.txt'), 'inside, and changed\n')
  for (const [path, target] of Object.entries(links(outside))) symlinkSync(target, join(workspace, path))
}

function makeRepository(workspace: string, repository: string) {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', workspace, '-c', 'user.name=a', '-c', 'user.email=a@b.test', ...args])
  git('init', '-q')
  git('add', 'a.txt')
  git('commit', '-q', '-m', 'First')
  renameSync(join(workspace, '.git'), repository)
}

/** Links of a hostile project. */
const links = (outside: string) => ({
  out: '../outside',
  'out-absolute': outside,
  'out-file': '../outside/secret.txt',
  'out-new': '../outside/marker',
  chain: 'src/chain',
  'src/chain': '../out-file',
  'src/up': '../..',
  self: 'self',
  machine: '/',
  process: '/proc/self/root',
  'to-env': '.env',
  'to-git': '.git',
  'to-src': 'src',
})

function processesWith(token: string): string[] {
  if (!existsSync('/proc/self/environ')) return []
  return readdirSync('/proc').filter((pid) => {
    try {
      return ['environ', 'cmdline'].some((file) => readFileSync(`/proc/${pid}/${file}`).includes(token))
    } catch {
      return false
    }
  })
}
