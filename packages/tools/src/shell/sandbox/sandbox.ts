import { accessSync, constants, existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, isAbsolute, join, resolve, sep } from 'node:path'
import { messageOf } from 'millrace/internal'
import { startCommand } from '../command.ts'
import { sensitivePaths } from './git.ts'
import { isWithin, neededPaths, resolved, secrets, socketFolders } from './paths.ts'
import { protectPaths } from './protect.ts'
import { behindProxy } from './proxied.ts'
import { seatbelt } from './seatbelt.ts'
import { seccompFilter } from './seccomp.ts'

export { sandboxDenial } from './denial.ts'

export interface SandboxOptions {
  /** The workspace: the only writable folder. Must exist. */
  readonly root: string
  readonly cwd: string
  /**
   * True for the machine's network, or the hosts to reach through a proxy. Unless true, 127.0.0.1
   * is private too.
   */
  readonly network?: boolean | readonly string[]
  /**
   * More writable folders, absolute or relative to the workspace. Missing folders are ignored. An entry
   * for a protected path in the workspace, such as `.git/hooks` or `.husky`, makes it writable, even if
   * it does not exist yet.
   */
  readonly writable?: readonly string[]
  /** Only the command's own `/tmp` is writable, which is deleted afterwards. */
  readonly readOnly?: boolean
  /**
   * Variables for the program only: in bubblewrap's own environment an LD_PRELOAD would run outside
   * the sandbox.
   */
  readonly env?: Readonly<Record<string, string>>
}

/** A mount in the sandbox's file tree. */
interface Mount {
  readonly at: string
  readonly args: readonly string[]
}

/** A sandboxed command, ready to start. */
interface Sandboxed {
  readonly file: string
  readonly args: string[]
  /**
   * The seccomp filter, to be read from descriptor 3. Undefined if there is none for this
   * architecture.
   */
  readonly filter: Buffer | undefined
  /** Call it when the command has ended or could not start. Returns the paths of renamed files. */
  readonly tidy: () => readonly string[]
}

/**
 * Wraps a program with bubblewrap. It can read the machine's files but write only the workspace. Secrets,
 * sockets and other processes are hidden. It has the permissions of its user and cannot gain more, and it
 * ends with the process that started it. `/tmp` is private and empty for each command.
 */
export function sandboxed(program: string, argv: readonly string[], options: SandboxOptions): Sandboxed {
  if (process.platform === 'darwin') return onMac(program, argv, options)
  const { root, cwd, network = false, writable = [], readOnly = false, env = {} } = options
  const isOnline = network === true
  const filter = seccompFilter()
  const own = writableFolders({ root, writable })
  const how = readOnly ? '--ro-bind' : '--bind'
  const { mounts: kept, tidy } = readOnly
    ? { mounts: [], tidy: () => [] }
    : protectPaths({ root: realpathSync(root), writable: named({ root, writable }) })
  const mounts: Mount[] = [
    { at: '/', args: ['--ro-bind', '/', '/'] },
    { at: '/dev', args: ['--dev', '/dev'] },
    { at: '/proc', args: ['--proc', '/proc'] },
    ...socketFolders().map((at) => emptied(at, 'folder')),
    ...neededPaths({ network: isOnline }).map((at) => ({ at, args: ['--ro-bind-try', at, at] })),
    ...outermost(own).map((at) => ({ at, args: [how, at, at] })),
    ...kept,
    ...hidden(own).map(({ at, kind }) => emptied(at, kind)),
  ]
  return {
    // The sandbox program itself must not be writable from inside.
    file: bubblewrap(own) ?? '/usr/bin/bwrap',
    args: [
      ...namespaces,
      ...(isOnline ? [] : ['--unshare-net']),
      ...(filter ? ['--seccomp', '3'] : []),
      ...mounts.toSorted((a, b) => depth(a.at) - depth(b.at)).flatMap(({ args }) => args),
      // The outer TMPDIR does not exist here.
      ...['--setenv', 'TMPDIR', '/tmp'],
      // Otherwise git would rewrite its index to refresh cached file stats.
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

/**
 * The same with Seatbelt. Its limits: other processes and the machine's `127.0.0.1` are visible.
 */
function onMac(program: string, argv: readonly string[], options: SandboxOptions): Sandboxed {
  const { root, network = false, writable = [], readOnly = false, env = {} } = options
  const own = writableFolders({ root, writable })
  const tmp = mkdtempSync(join(realpathSync(tmpdir()), 'millrace-'))
  const kept = readOnly ? [] : sensitivePaths(own)
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
      // The proxy for a list of hosts is not supported on macOS.
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

/** Secrets, except those that contain a writable folder. */
function hidden(own: readonly string[]) {
  return secrets().filter(({ at }) => !own.some((folder) => isWithin(folder, at)))
}

const namespaces = [
  // Without a user namespace, root would be root of the machine; with capabilities it could unmount
  // things.
  ...['--unshare-user', '--cap-drop', 'ALL'],
  ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
  // Prevents injecting commands into the terminal: CVE-2017-5226.
  ...['--die-with-parent', '--new-session'],
]

/** Deeper paths are mounted later, or they would be covered. */
function depth(path: string): number {
  return path === sep ? 0 : path.split(sep).length - 1
}

function emptied(at: string, kind: 'folder' | 'file'): Mount {
  // A plain bind does not allow devices, so the file could not be read.
  return { at, args: kind === 'folder' ? ['--tmpfs', at] : ['--dev-bind', '/dev/null', at] }
}

/** Folders that sandboxed commands can write, and so cannot be trusted. */
type WritableFolders = Pick<SandboxOptions, 'root' | 'writable'>

function writableFolders(folders: WritableFolders): string[] {
  return [folders.root, ...named(folders)]
    .filter((path) => existsSync(path))
    .map((path) => realpathSync(path))
}

/** The paths in `writable`, existing or not. */
function named({ root, writable = [] }: WritableFolders): string[] {
  return writable.map((path) => resolve(root, path)).map((path) => resolved(path) ?? path)
}

/**
 * Drops paths inside other folders: a separately mounted file cannot be replaced, which is how most
 * programs write.
 */
function outermost(folders: readonly string[]): string[] {
  return folders.filter((one) => !folders.some((other) => other !== one && isWithin(one, other)))
}

/**
 * The path of a working sandbox program, tried once; undefined if there is none (see
 * `sandboxProblem`).
 */
export async function findSandbox(folders?: WritableFolders): Promise<string | undefined> {
  const { path } = await tried(folders)
  return path
}

/** Why no sandbox works; undefined if one does. */
export async function sandboxProblem(folders?: WritableFolders): Promise<string | undefined> {
  const { problem } = await tried(folders)
  return problem
}

type Trial = { readonly path: string; readonly problem?: never } | { readonly path?: never; problem: string }

const trials = new Map<string, Promise<Trial>>()

async function tried(folders?: WritableFolders): Promise<Trial> {
  const isMac = process.platform === 'darwin'
  if (process.platform !== 'linux' && !isMac) return { problem: 'only Linux and macOS are supported' }
  const path = isMac ? programAt(macSandbox) : bubblewrap(folders && writableFolders(folders))
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

/** Generous, for a very busy machine. */
const trialMs = 30_000

async function attempt(path: string): Promise<Trial> {
  const root = realpathSync(tmpdir())
  const { args, filter, tidy } = sandboxed('true', [], { root, cwd: root, readOnly: true })
  const spec = { file: path, args, cwd: root, env: process.env, maxOutputBytes: 10_000, graceMs: 0 }
  const command = await startCommand({ ...spec, sandbox: { filter } }).catch(messageOf)
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
        ? `Seatbelt cannot create a sandbox here (${words})`
        : `bubblewrap cannot create a sandbox here (${words}): a container or system settings may disable user namespaces`,
  }
}

/**
 * The first `bwrap` in PATH outside these folders: `npx` puts folders of the workspace in front.
 */
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
