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
import { type Sensitive, sensitiveIn } from './git.ts'
import { isWithin, kindOf, resolved } from './places.ts'

export interface Guard {
  /** What to mount, in no order. */
  readonly mounts: readonly { readonly at: string; readonly args: readonly string[] }[]
  /**
   * When the command is over: puts aside what has come to be where nothing could be mounted, and gives the paths at which it lies
   * then. Must be called once the command cannot change anything any more. Later calls give the same.
   */
  tidy(): readonly string[]
}

interface Running {
  readonly own: readonly string[]
  readonly bound: ReadonlySet<string>
}

/** The commands of this process that may change something at this moment. */
const running = new Set<Running>()

/**
 * Keeps what takes effect outside from being changed by a command. What exists is mounted read-only; a `.git` that does not is an
 * empty folder that cannot be changed, which git does not take for a repository. For anything else that does not exist nothing can
 * be mounted without leaving files in the user's folder while the command runs: that is looked at afterwards.
 */
export function guard({ root, writable }: { root: string; writable: readonly string[] }): Guard {
  const own = [root, ...writable.filter((path) => kindOf(path) === 'folder' && !isWithin(path, root))]
  const others = [...running].filter((one) => own.some((a) => one.own.some((b) => overlap(a, b))))
  const isOpen = ({ at, anchor }: Pick<Sensitive, 'at' | 'anchor'>) =>
    writable.some((path) => isWithin(path, anchor) && isWithin(at, path))
  /** A command that runs could put a link in its place between now and the mount, which would then show what the link leads to. */
  const isPinned = (at: string) =>
    others.length === 0 ||
    ([root, join(root, '.git')].includes(dirname(at)) && others.every(({ bound }) => bound.has(at)))

  const git = join(root, '.git')
  const isVacant = !isOpen({ at: git, anchor: git }) && isVacantFolder(git)
  const before = new Map<string, string | undefined>()
  const mounts = new Map<string, string[]>()
  for (const one of sensitiveIn(own)) {
    if (isOpen(one)) continue
    const place = mountPoint(one, own)
    const isBound = place !== undefined && isPinned(place) && !(isVacant && isWithin(one.at, git))
    if (isBound && kindOf(place) === undefined) make(place, one.make)
    if (isBound && kindOf(place) !== undefined) mounts.set(place, ['--ro-bind-try', place, place])
    // What is mounted cannot be changed from inside, and may be from outside; but the folder that it is in can be moved away.
    before.set(one.at, isBound && place === one.at ? inodeOf(dirname(one.at)) : stateOf(one.at))
  }
  if (isVacant) make(git, 'folder')
  const vacant = isVacant ? inodeOf(git) : undefined
  if (isVacant) mounts.set(git, ['--tmpfs', git, '--remount-ro', git])
  // So that it cannot be moved away and made anew.
  else if (kindOf(git) === 'folder' && !isOpen({ at: git, anchor: git }) && isPinned(git))
    mounts.set(git, ['--bind', git, git])

  const bound = new Set(mounts.keys())
  const self = { own, bound }
  running.add(self)

  function tidy(): string[] {
    running.delete(self)
    // What lies in it the user has made, to whom it is an ordinary folder.
    const isUsers = ({ at }: Sensitive) =>
      vacant !== undefined && isWithin(at, git) && inodeOf(git) === vacant
    if (isVacant && ![...running].some((one) => one.bound.has(git))) removeIfEmpty(git)
    return sensitiveIn(own)
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

/** Where to mount it: a link cannot be mounted over, but what it leads to can. */
function mountPoint({ at, make }: Sensitive, own: readonly string[]): string | undefined {
  const place = kindOf(at) === undefined && make ? at : resolved(at)
  return place !== undefined && own.some((folder) => isWithin(place, folder) && place !== folder)
    ? place
    : undefined
}

function make(at: string, kind: 'file' | 'folder' | undefined) {
  try {
    if (kind === 'folder') mkdirSync(at)
    if (kind === 'file') writeFileSync(at, '', { flag: 'wx' })
  } catch {
    // What cannot be made from here cannot be made from inside.
  }
}

/** Not there, or as a command that was killed has left it. */
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
    // The user has made something of it.
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

/** Another if it, or something directly in it, was changed. Undefined if it is not there. */
function stateOf(at: string): string | undefined {
  const states = [at, ...namesIn(at).map((name) => join(at, name))]
  const [first, ...rest] = states.map((path) => {
    const stats = statsOf(path)
    return stats && `${path} ${stats.dev}:${stats.ino} ${stats.ctimeNs}`
  })
  return first && [first, ...rest].join('\n')
}

/** Linux only, on every machine that Node runs on: a handle for the path alone, for which a folder need not be readable. */
const O_PATH = 0o10000000

/** Renames it where it lies, whatever links another command puts in the way meanwhile. Gives the path that it has then. */
function putAside(at: string): string {
  const parent = resolved(dirname(at)) ?? dirname(at)
  const [name, aside] = [basename(at), `${basename(at)}.refused-${randomUUID().slice(0, 8)}`]
  let handle: number | undefined
  try {
    handle = openSync(parent, O_PATH)
    const held = `/proc/self/fd/${handle}`
    if (readlinkSync(held) !== parent) return at
    // The command may have taken the right to write away.
    chmodSync(held, lstatSync(parent).mode | 0o700)
    renameSync(join(held, name), join(held, aside))
    return join(parent, aside)
  } catch {
    return at
  } finally {
    if (handle !== undefined) closeSync(handle)
  }
}
