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

/** What a hostile model calls. In its texts OUTSIDE, WORKSPACE, PRIVATE, PUBLIC and TOKEN are filled in. */
export type Call = readonly [tool: string, input: JsonObject]

/** A name, and the calls one after the other: the last is the attempt, those before it make it ready. */
export type Row = readonly [name: string, ...calls: Call[]]

export type World = Awaited<ReturnType<typeof openWorld>>

/** A careful coding agent: it works on its files, runs what is harmless, and nothing waits for an answer. */
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

interface WorldOptions {
  readonly sandbox?: 'off' | 'required'
  /** Where the workspace and what lies outside of it are made; a folder of the system for such things if absent. */
  readonly parent?: string
}

/** A workspace with everything around it that must not be touched. */
export async function openWorld({ sandbox = 'off', parent = tmpdir() }: WorldOptions = {}) {
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
  // A key as the process of an agent has it.
  vi.stubEnv('PROVIDER_API_KEY', secret)
  vi.stubEnv('HOME', home)
  // Once made, it is copied: three programs for each attempt would take their time.
  const places: Places = { workspace, outside, home, secret, repository: `${base}.git` }
  furnish(places)
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

  /** A model that makes these calls, each in a round of its own. */
  const model = (calls: readonly Call[]) => scriptedModel([...calls.map((call) => [filled(call)]), 'Done.'])

  return {
    ...{ base, workspace, outside, secret, token, tools, net, filled, model },
    /** Runs an agent whose model makes these calls. */
    async run(calls: readonly Call[], policy: Policy | null = careful): Promise<RunEvent[]> {
      return told(agent({ model: model(calls), tools, ...(policy && { permission: policy }) }).stream('Go.'))
    },
    /** All that must stay as it is. */
    around: () => [
      ...treeOf(base, (path) => path !== workspace),
      ...['.git/hooks', '.env']
        .map((name) => join(workspace, name))
        .flatMap((path) => {
          if (!existsSync(path)) return 'gone'
          return path.endsWith('.env') ? readFileSync(path, 'utf8') : treeOf(path)
        }),
    ],
    /** The processes that came of commands: all of them have the token in their environment, or in their words. */
    left: () => processesWith(token),
    restore: () => furnish(places),
    async close() {
      await box.close()
      await net.close()
      vi.unstubAllEnvs()
      for (const folder of [base, places.repository]) rmSync(folder, { recursive: true, force: true })
    },
  }
}

export async function told(run: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
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

/** Makes the attempt, and holds that nothing came of it: nothing changed, seen, asked or left running. */
export async function harmless<Result>(world: World, attempt: () => Promise<Result>): Promise<Result> {
  const before = world.around()
  const events = await attempt()
  expect(world.around()).toEqual(before)
  expect(JSON.stringify(events)).not.toContain(world.secret)
  expect(world.net.seen()).toEqual([])
  await vi.waitUntil(() => world.left().length === 0, { timeout: 20_000 })
  return events
}

/** The same, and the model is told in a sentence that it was not done. Gives that. */
export async function refused(world: World, [, ...calls]: Row, policy?: Policy): Promise<ToolResultEvent> {
  const events = await harmless(world, () => world.run(calls, policy))
  const results = resultsIn(events)
  const last = results.at(-1) as ToolResultEvent
  expect(results.slice(0, -1).filter(({ isError }) => isError)).toEqual([])
  expect(results).toHaveLength(calls.length)
  helps(last)
  // The place of a redirection is told as the rules see it; all else is told as the model wrote it.
  const wrote = JSON.stringify(calls.map(world.filled))
  if (last.name !== 'shell' && !wrote.includes(world.outside))
    expect(wordsOf(last)).not.toContain(world.outside)
  return last
}

/** It did not run, or failed; and what the model reads is a sentence, not a stack. */
export function helps(result: ToolResultEvent) {
  expect(result).toMatchObject({
    isError: true,
    status: expect.stringMatching(/^(blocked|failed|rejected)$/),
  })
  expect(wordsOf(result)).toMatch(/^(Not run|The tool failed): \S.{10,}/s)
  expect(wordsOf(result)).not.toMatch(/\n\s+at |node:internal|\.ts:\d/)
}

/** Names, kinds, rights, times and contents of everything below a folder that is to be looked at. */
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
  /** A copy of the workspace's, beside all this. */
  readonly repository: string
}

/** Makes, or makes again, what is there at the beginning. */
function furnish({ workspace, outside, home, secret, repository }: Places) {
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
  // A project may bring programs of its own. These leave their mark.
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

/** As a project could have them that somebody else has made. */
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
