import { accessSync, constants, existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, isAbsolute, join, resolve, sep } from 'node:path'
import { messageOf } from 'millrace/internal'
import { startCommand } from '../command.ts'
import { sensitiveIn } from './git.ts'
import { guard } from './guard.ts'
import { isWithin, leadingOut, needed, resolved, secrets } from './places.ts'
import { behindProxy } from './proxied.ts'
import { seatbelt } from './seatbelt.ts'
import { seccompFilter } from './seccomp.ts'

export { sandboxRefusal } from './refusal.ts'

export interface SandboxOptions {
  /** The workspace: the one folder that may be changed. Must exist. */
  readonly root: string
  readonly cwd: string
  /** True for the network of the machine, or the hosts to reach through a proxy. Without the first even 127.0.0.1 is another. */
  readonly network?: boolean | readonly string[]
  /**
   * More folders that may be changed, as absolute paths or from the workspace. Those that do not exist are passed over. One that
   * names what is protected in the workspace, such as `.git/hooks` or `.husky`, leaves that open, existing or not.
   */
  readonly writable?: readonly string[]
  /** Nothing can be changed but the command's own `/tmp`, which is gone with it. */
  readonly readOnly?: boolean
  /** Variables for the program alone. In the environment of bubblewrap itself an LD_PRELOAD would be code outside of the sandbox. */
  readonly env?: Readonly<Record<string, string>>
}

/** What is put in a place of the sandbox's own tree of files. */
interface Mount {
  readonly at: string
  readonly args: readonly string[]
}

/** What to start, and what it is to read from its descriptor 3. */
interface Sandboxed {
  readonly file: string
  readonly args: string[]
  /** Of system calls. Undefined where there is none for the machine's architecture. */
  readonly filter: Buffer | undefined
  /** To be called when the command is over, or was not started: gives the paths of what it had to put aside. */
  readonly tidy: () => readonly string[]
}

/**
 * A program as bubblewrap runs it: the machine's files are there to be read, only the workspace can be changed; folders of
 * secrets and sockets that lead out are not to be seen, nor are other processes. It has no rights beyond its user's and cannot get
 * any, and dies with the process that started it. `/tmp` is its own, and empty each time.
 */
export function sandboxed(program: string, argv: readonly string[], options: SandboxOptions): Sandboxed {
  if (process.platform === 'darwin') return onMac(program, argv, options)
  const { root, cwd, network = false, writable = [], readOnly = false, env = {} } = options
  const isOnline = network === true
  const filter = seccompFilter()
  const own = changeable({ root, writable })
  const how = readOnly ? '--ro-bind' : '--bind'
  const { mounts: kept, tidy } = readOnly
    ? { mounts: [], tidy: () => [] }
    : guard({ root: realpathSync(root), writable: named({ root, writable }) })
  const mounts: Mount[] = [
    { at: '/', args: ['--ro-bind', '/', '/'] },
    { at: '/dev', args: ['--dev', '/dev'] },
    { at: '/proc', args: ['--proc', '/proc'] },
    ...leadingOut().map((at) => emptied(at, 'folder')),
    ...needed({ network: isOnline }).map((at) => ({ at, args: ['--ro-bind-try', at, at] })),
    ...outermost(own).map((at) => ({ at, args: [how, at, at] })),
    ...kept,
    ...hidden(own).map(({ at, kind }) => emptied(at, kind)),
  ]
  return {
    // What can be changed from inside must not be what makes the sandbox.
    file: bubblewrap(own) ?? '/usr/bin/bwrap',
    args: [
      ...namespaces,
      ...(isOnline ? [] : ['--unshare-net']),
      ...(filter ? ['--seccomp', '3'] : []),
      ...mounts.toSorted((a, b) => depth(a.at) - depth(b.at)).flatMap(({ args }) => args),
      // Whatever it was outside, there is no such folder here.
      ...['--setenv', 'TMPDIR', '/tmp'],
      // Git would rewrite the index to remember what it has looked at.
      ...(readOnly ? ['--setenv', 'GIT_OPTIONAL_LOCKS', '0'] : []),
      ...['--chdir', cwd],
      ...(typeof network === 'boolean'
        ? [
            ...Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value]),
            '--',
            program,
            ...argv,
          ]
        : ['--', ...behindProxy(network, { program, argv, env })]),
    ],
    filter,
    tidy,
  }
}

/** The same by Seatbelt, as far as that can do it: it sees other processes, and the one `127.0.0.1` of the machine. */
function onMac(program: string, argv: readonly string[], options: SandboxOptions): Sandboxed {
  const { root, network = false, writable = [], readOnly = false, env = {} } = options
  const own = changeable({ root, writable })
  const tmp = mkdtempSync(join(realpathSync(tmpdir()), 'millrace-'))
  const kept = readOnly ? [] : sensitiveIn(own)
  const anchors = readOnly ? [] : [...kept.map(({ anchor }) => anchor), join(realpathSync(root), '.git')]
  const open = named({ root, writable }).filter((path) => anchors.some((anchor) => isWithin(path, anchor)))
  const variables = Object.entries({ TMPDIR: tmp, ...(readOnly && { GIT_OPTIONAL_LOCKS: '0' }), ...env })
  const words = [...variables.map(([name, value]) => `${name}=${value}`), program, ...argv]
  return {
    file: macSandbox,
    args: seatbelt('/usr/bin/env', words, {
      own: readOnly ? [] : own,
      kept: kept.map(({ at }) => at),
      open: [...open, tmp],
      secrets: hidden(own).map(({ at }) => at),
      // There is no proxy for a list of hosts here.
      network: network === true,
    }),
    filter: undefined,
    tidy: () => {
      rmSync(tmp, { recursive: true, force: true })
      return []
    },
  }
}

const macSandbox = '/usr/bin/sandbox-exec'

/** Secrets, unless the workspace lies in them or they are named. */
function hidden(own: readonly string[]) {
  return secrets().filter(({ at }) => !own.some((folder) => isWithin(folder, at)))
}

const namespaces = [
  // Also for root, who would be root of the machine otherwise; and without capabilities, who could unmount things.
  ...['--unshare-user', '--cap-drop', 'ALL'],
  ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
  // A terminal could be made to type commands: CVE-2017-5226.
  ...['--die-with-parent', '--new-session'],
]

/** What lies deeper is mounted later, or it would be covered. */
function depth(path: string): number {
  return path === sep ? 0 : path.split(sep).length - 1
}

function emptied(at: string, kind: 'folder' | 'file'): Mount {
  // A plain bind has no devices, and could not be read.
  return { at, args: kind === 'folder' ? ['--tmpfs', at] : ['--dev-bind', '/dev/null', at] }
}

/** What commands in the sandbox may change, and so may be the work of one. */
type Changeable = Pick<SandboxOptions, 'root' | 'writable'>

function changeable(places: Changeable): string[] {
  return [places.root, ...named(places)].filter((path) => existsSync(path)).map((path) => realpathSync(path))
}

/** What `writable` names, whether it exists or not. */
function named({ root, writable = [] }: Changeable): string[] {
  return writable.map((path) => resolve(root, path)).map((path) => resolved(path) ?? path)
}

/** A file that is mounted by itself could not be replaced, which is how most programs write. */
function outermost(folders: readonly string[]): string[] {
  return folders.filter((one) => !folders.some((other) => other !== one && isWithin(one, other)))
}

/** The path of a bubblewrap that works here. Each is tried once; undefined if none does, and `sandboxProblem` says why. */
export async function findSandbox(places?: Changeable): Promise<string | undefined> {
  const { path } = await tried(places)
  return path
}

/** Why there is no sandbox, in words; undefined if there is one. */
export async function sandboxProblem(places?: Changeable): Promise<string | undefined> {
  const { problem } = await tried(places)
  return problem
}

type Trial = { readonly path: string; readonly problem?: never } | { readonly path?: never; problem: string }

const trials = new Map<string, Promise<Trial>>()

async function tried(places?: Changeable): Promise<Trial> {
  const isMac = process.platform === 'darwin'
  if (process.platform !== 'linux' && !isMac) return { problem: 'there is one for Linux and macOS only' }
  const path = isMac ? programAt(macSandbox) : bubblewrap(places && changeable(places))
  if (path === undefined)
    return {
      problem: isMac
        ? `${macSandbox} is missing`
        : 'bubblewrap is not installed (apt-get install bubblewrap)',
    }
  const trial = trials.get(path) ?? attempt(path)
  trials.set(path, trial)
  return trial
}

/** So long it may take on a machine that is very busy. */
const trialMs = 30_000

async function attempt(path: string): Promise<Trial> {
  const root = realpathSync(tmpdir())
  const { args, filter, tidy } = sandboxed('true', [], { root, cwd: root, readOnly: true })
  const order = { file: path, args, cwd: root, env: process.env, maxOutputBytes: 10_000, graceMs: 0 }
  const command = await startCommand({ ...order, sandbox: { filter } }).catch(messageOf)
  if (typeof command === 'string') return { problem: command }
  const timer = setTimeout(command.end, trialMs)
  const { code } = await command.ended
  clearTimeout(timer)
  tidy()
  if (code === 0) return { path }
  const [reason = ''] = command.output.read().head.trim().split('\n')
  const words = reason.replace(/^bwrap: /, '')
  return {
    problem:
      path === macSandbox
        ? `Seatbelt cannot make a sandbox here (${words})`
        : `bubblewrap cannot make a sandbox here (${words}): a container or the system's settings may forbid user namespaces`,
  }
}

/** The first of the PATH, of which `npx` puts folders of the workspace in front, that lies in none of these folders. */
function bubblewrap(changeable: readonly string[] = []): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(isAbsolute)
  return folders
    .flatMap((folder) => programAt(join(folder, 'bwrap')) ?? [])
    .find((program) => !changeable.some((folder) => folder !== sep && isWithin(program, folder)))
}

function programAt(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK)
    return realpathSync(path)
  } catch {
    return undefined
  }
}
