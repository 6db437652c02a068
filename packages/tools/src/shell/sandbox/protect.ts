import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type SensitivePath, sensitivePaths } from './git.ts'
import { isWithin, kindOf, resolved } from './paths.ts'

export interface Protection {
  /** What to mount, in any order. */
  readonly mounts: readonly { readonly at: string; readonly args: readonly string[] }[]
  /**
   * Renames protected paths that the command created where nothing could be mounted, and returns their
   * new paths. Call it when the command can no longer change anything. Later calls return the same.
   */
  tidy(): readonly string[]
}

interface Running {
  readonly own: readonly string[]
  readonly bound: ReadonlySet<string>
}

/** Running commands of this process that can change files. */
const running = new Set<Running>()

/**
 * Prevents a command from changing paths that take effect outside the sandbox. Existing paths are
 * mounted read-only. A missing `.git` becomes an empty read-only folder, which git does not treat as a
 * repository. Other missing paths cannot be mounted without leaving files in the user's folder while the
 * command runs, so they are checked afterwards.
 */
export function protectPaths({ root, writable }: { root: string; writable: readonly string[] }): Protection {
  const own = [root, ...writable.filter((path) => kindOf(path) === 'folder' && !isWithin(path, root))]
  const others = [...running].filter((one) => own.some((a) => one.own.some((b) => overlap(a, b))))
  const isOpen = ({ at, anchor }: Pick<SensitivePath, 'at' | 'anchor'>) =>
    writable.some((path) => isWithin(path, anchor) && isWithin(at, path))
  /** Otherwise a running command could replace the path with a link before it is mounted. */
  const isPinned = (at: string) =>
    others.length === 0 ||
    ([root, join(root, '.git')].includes(dirname(at)) && others.every(({ bound }) => bound.has(at)))

  const git = join(root, '.git')
  const isVacant = !isOpen({ at: git, anchor: git }) && isVacantFolder(git)
  const before = new Map<string, string | undefined>()
  const mounts = new Map<string, string[]>()
  for (const one of sensitivePaths(own)) {
    if (isOpen(one)) continue
    const mount = mountPoint(one, own)
    const isBound = mount !== undefined && isPinned(mount) && !(isVacant && isWithin(one.at, git))
    if (isBound && kindOf(mount) === undefined) make(mount, one.make)
    if (isBound && kindOf(mount) !== undefined) mounts.set(mount, ['--ro-bind-try', mount, mount])
    // A mounted path cannot change from inside, and may change from outside. But its parent folder
    // can be moved.
    before.set(one.at, isBound && mount === one.at ? inodeOf(dirname(one.at)) : stateOf(one.at))
  }
  if (isVacant) make(git, 'folder')
  const vacant = isVacant ? inodeOf(git) : undefined
  if (isVacant) mounts.set(git, ['--tmpfs', git, '--remount-ro', git])
  // So that it cannot be moved away and recreated.
  else if (kindOf(git) === 'folder' && !isOpen({ at: git, anchor: git }) && isPinned(git))
    mounts.set(git, ['--bind', git, git])

  const bound = new Set(mounts.keys())
  const self = { own, bound }
  running.add(self)

  function tidy(): string[] {
    running.delete(self)
    // The user, who sees an ordinary folder, has created what is in it.
    const isUsers = ({ at }: SensitivePath) =>
      vacant !== undefined && isWithin(at, git) && inodeOf(git) === vacant
    if (isVacant && ![...running].some((one) => one.bound.has(git))) removeIfEmpty(git)
    return sensitivePaths(own)
      .filter((one) => !isOpen(one) && !isUsers(one) && kindOf(one.at) !== undefined)
      .filter(({ at }) => before.get(at) !== (bound.has(at) ? inodeOf(dirname(at)) : stateOf(at)))
      .filter((one) => !one.isHarmless())
      .map(({ at }) => putAside(at))
  }
  let done: readonly string[] | undefined
  return {
    mounts: [...mounts].map(([at, args]) => ({ at, args })),
    tidy: () => {
      done ??= tidy()
      return done
    },
  }
}

function overlap(a: string, b: string): boolean {
  return isWithin(a, b) || isWithin(b, a)
}

/** Where to mount it: not over a link, but over the link's target. */
function mountPoint({ at, make }: SensitivePath, own: readonly string[]): string | undefined {
  const mount = kindOf(at) === undefined && make ? at : resolved(at)
  return mount !== undefined && own.some((folder) => isWithin(mount, folder) && mount !== folder)
    ? mount
    : undefined
}

function make(at: string, kind: 'file' | 'folder' | undefined) {
  try {
    if (kind === 'folder') mkdirSync(at)
    if (kind === 'file') writeFileSync(at, '', { flag: 'wx' })
  } catch {
    // If it cannot be created here, it cannot be created from inside either.
  }
}

/** Missing, or empty as left by a killed command. */
function isVacantFolder(at: string): boolean {
  const kind = kindOf(at)
  return kind === undefined || (kind === 'folder' && namesIn(at).length === 0)
}

function namesIn(folder: string): string[] {
  try {
    return kindOf(folder) === 'folder' ? readdirSync(folder) : []
  } catch {
    return []
  }
}

function removeIfEmpty(at: string) {
  try {
    rmdirSync(at)
  } catch {
    // The user has put something in it.
  }
}

function inodeOf(at: string): string | undefined {
  const stats = statsOf(at)
  return stats && `${stats.dev}:${stats.ino}`
}

function statsOf(at: string) {
  try {
    return lstatSync(at, { bigint: true, throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Changes when the path or a direct child changes. Undefined if the path does not exist. */
function stateOf(at: string): string | undefined {
  const states = [at, ...namesIn(at).map((name) => join(at, name))]
  const [first, ...rest] = states.map((path) => {
    const stats = statsOf(path)
    return stats && `${path} ${stats.dev}:${stats.ino} ${stats.ctimeNs}`
  })
  return first && [first, ...rest].join('\n')
}

/**
 * Linux only: opens a handle to the path, even if a folder is not readable. The same value on all
 * platforms of Node.
 */
const O_PATH = 0o10000000

/**
 * Renames it in place, safe against links that another command creates meanwhile. Returns its new
 * path.
 */
function putAside(at: string): string {
  const parent = resolved(dirname(at)) ?? dirname(at)
  const [name, aside] = [basename(at), `${basename(at)}.refused-${randomUUID().slice(0, 8)}`]
  let handle: number | undefined
  try {
    handle = openSync(parent, O_PATH)
    const held = `/proc/self/fd/${handle}`
    if (readlinkSync(held) !== parent) return at
    // The command may have removed write permission.
    chmodSync(held, lstatSync(parent).mode | 0o700)
    renameSync(join(held, name), join(held, aside))
    return join(parent, aside)
  } catch {
    return at
  } finally {
    if (handle !== undefined) closeSync(handle)
  }
}
