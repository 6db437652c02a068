import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { protectedNames } from '../../permission/protected.ts'
import { gitlinks } from './git-index.ts'
import { isWithin, kindOf, resolved } from './paths.ts'

/** A path that takes effect outside the sandbox later. It need not exist yet. */
export interface SensitivePath {
  readonly at: string
  /** An entry of `writable` must name this path, or one inside it, to make it writable. */
  readonly anchor: string
  /** If missing, it is created empty, which is harmless, so that it can be mounted read-only. */
  readonly make?: 'file' | 'folder' | undefined
  /** Whether what a command put there cannot run anything. */
  readonly isHarmless: () => boolean
}

/**
 * How much is scanned for each command: an entry costs 1, a folder 20. That is about 1,000 folders.
 */
const budget = 25_000
const folderCost = 20

/**
 * Every path in these folders that can make git or another tool run something: in all repositories
 * found by a breadth-first walk within `budget`, and in nested repositories named by an index at any
 * depth. `folders` are real paths.
 */
export function sensitivePaths(folders: readonly string[]): SensitivePath[] {
  const found = new Map<string, SensitivePath>()
  const seen = new Set<string>()
  const queue = [...folders]
  let left = budget

  const isOwn = (path: string) => folders.some((folder) => isWithin(path, folder))
  const isNew = (key: string) => !seen.has(key) && Boolean(seen.add(key))
  const add = (one: SensitivePath) => {
    if (isOwn(one.at) && !found.has(one.at)) found.set(one.at, one)
  }

  function look(folder: string) {
    const entries = entriesOf(folder)
    left -= folderCost + (entries?.length ?? 0)
    const names = new Set(entries?.map(({ name }) => name))
    // A folder that cannot be listed may contain anything.
    if (!entries || names.has('.git')) repositoryAt(join(folder, '.git'))
    const isBare =
      names.has('HEAD') && (names.has('commondir') || (names.has('objects') && names.has('refs')))
    if (isBare) gitFolder(folder, { anchor: folder })
    for (const entry of entries ?? []) {
      const at = `${folder}/${entry.name}`
      // A project that a command cloned or created may bring its own. They matter once it is opened
      // as a workspace.
      if (protectedNames.has(entry.name)) add({ ...named(at), isHarmless: () => true })
      if (entry.name === 'node_modules') for (const one of packagesIn(at)) repositoryAt(`${one}/.git`)
      else if (entry.isDirectory() && entry.name !== '.git' && !(isBare && entry.name === 'objects'))
        queue.push(at)
    }
  }

  /** Packages are not walked, but each may be a repository. */
  function packagesIn(modules: string): string[] {
    const entries = entriesOf(modules) ?? []
    left -= folderCost + entries.length
    return entries.flatMap(({ name }) => {
      const at = `${modules}/${name}`
      return name.startsWith('@') ? (entriesOf(at) ?? []).map((one) => `${at}/${one.name}`) : [at]
    })
  }

  /** A `.git`: a folder, a link to one, or a file that names one. */
  function repositoryAt(at: string) {
    const kind = kindOf(at)
    if (kind === undefined || !isNew(at)) return
    const top = dirname(at)
    if (kind === 'file') {
      // Its content cannot change. The repository it names is checked like any other.
      add({ at, anchor: at, isHarmless: () => true })
      const [, target] = /^gitdir: (.+)/s.exec(textOf(at) ?? '') ?? []
      if (target) gitFolder(resolve(top, target.trimEnd()), { top })
    } else gitFolder(at, { top, anchor: at })
  }

  function gitFolder(path: string, { top, anchor }: { top?: string; anchor?: string }) {
    const git = resolved(path)
    if (git === undefined) return
    // The config of a repository outside is read-only, but may name paths inside.
    settings(join(git, 'config'), top ?? git)
    for (const file of systemWide()) settings(file, top ?? git)
    if (!isOwn(git) || !isNew(`${git} as a repository of ${top}`)) return
    const within = { anchor: anchor ?? git }
    const common = textOf(join(git, 'commondir'))?.trim()
    const make = common === undefined && kindOf(join(git, 'HEAD')) !== undefined
    const perWorktree = /worktreeconfig/i.test(textOf(join(git, 'config')) ?? '')
    add({ ...config(join(git, 'config')), ...within, make: make ? 'file' : undefined })
    add({ ...config(join(git, 'config.worktree')), ...within, make: perWorktree ? 'file' : undefined })
    add({ ...hooks(join(git, 'hooks')), ...within, make: make ? 'folder' : undefined })
    const commondir = join(git, 'commondir')
    add({ at: commondir, ...within, isHarmless: () => isWorktree(commondir) })
    if (common) gitFolder(resolve(git, common), {})
    queue.push(join(git, 'modules'), join(git, 'worktrees'))
    // `git status` checks each nested repository, and so runs programs that its config names.
    if (top !== undefined) for (const path of gitlinks(git)) repositoryAt(join(top, path, '.git'))
  }

  /**
   * Follows what a config file refers to: included config files, conditional or not, and a hooks
   * folder.
   */
  function settings(file: string, top: string) {
    const text = isNew(`${file} as settings of ${top}`) ? textOf(file) : undefined
    for (const [, key = '', value = ''] of text?.matchAll(pathSetting) ?? []) {
      const path = value
        .trim()
        .replace(/^"(.*)"$/, '$1')
        .replace(/^~(?=\/)/, homedir())
      if (key.toLowerCase() === 'path') {
        const included = resolve(dirname(file), path)
        add(config(included))
        settings(included, top)
      } else if (!isWithin(top, resolve(top, path))) add(hooks(resolve(top, path)))
    }
  }

  for (const folder of folders) for (const name of protectedNames.keys()) add(named(join(folder, name)))
  for (const folder of queue) {
    if (left <= 0) break
    if (isNew(folder)) look(folder)
  }
  return [...found.values()]
}

const pathSetting = /^[ \t]*(?:\[[^\]\n]*\][ \t]*)?(path|hookspath)[ \t]*=([^\n]*)$/gim

function systemWide(): string[] {
  const xdg = process.env.XDG_CONFIG_HOME ?? join(homedir(), '.config')
  const { GIT_CONFIG_GLOBAL: instead } = process.env
  return [
    '/etc/gitconfig',
    ...(instead ? [instead] : [join(xdg, 'git/config'), join(homedir(), '.gitconfig')]),
  ]
}

function named(at: string): SensitivePath {
  return { at, anchor: at, isHarmless: () => isEmpty(at) }
}

function config(at: string): SensitivePath {
  return { at, anchor: at, isHarmless: () => isPlainFile(at) && isPlainConfig(textOf(at)) }
}

function hooks(at: string): SensitivePath {
  const isHarmless = () =>
    kindOf(at) === 'folder' && (entriesOf(at)?.every(({ name }) => name.endsWith('.sample')) ?? false)
  return { at, anchor: at, isHarmless }
}

/** As written by `git worktree add`. */
function isWorktree(commondir: string): boolean {
  const isThere = basename(dirname(dirname(commondir))) === 'worktrees'
  return isThere && isPlainFile(commondir) && textOf(commondir)?.trim() === '../..'
}

/** Not a link, and without a second hard link, through which it could be changed later. */
function isPlainFile(at: string): boolean {
  const stats = lstatSync(at, { throwIfNoEntry: false })
  return stats === undefined || (stats.isFile() && stats.nlink === 1)
}

/**
 * Settings that `git clone`, `git init` and `git submodule` write. None of them makes git run
 * anything.
 */
const plainSettings: Readonly<Record<string, string>> = {
  core: 'repositoryformatversion filemode bare logallrefupdates symlinks ignorecase precomposeunicode worktree autocrlf eol sparsecheckout sparsecheckoutcone',
  extensions: 'objectformat refstorage partialclone worktreeconfig',
  remote: 'url pushurl fetch tagopt prune promisor partialclonefilter',
  branch: 'remote merge rebase description',
  submodule: 'url active branch',
  user: 'name email',
  init: 'defaultbranch',
  index: 'sparse version',
}

/**
 * Whether a config has only such settings. Syntax that git itself rarely writes counts as not
 * plain.
 */
export function isPlainConfig(text: string | undefined): boolean {
  let allowed: string[] = []
  if (text === undefined) return false
  return text.split('\n').every((line) => {
    const [, section] = /^\[(\w+)(?: "[^"\\]*")?\]$/.exec(line) ?? []
    if (section) allowed = plainSettings[section.toLowerCase()]?.split(' ') ?? []
    if (section || /^\s*([#;].*)?$/.test(line)) return true
    const [, key = ''] = /^\s+([a-z]+) = [^"\\]*$/i.exec(line) ?? []
    return allowed.includes(key.toLowerCase())
  })
}

function isEmpty(at: string): boolean {
  const stats = lstatSync(at, { throwIfNoEntry: false })
  return stats?.isDirectory() ? entriesOf(at)?.length === 0 : !stats || (stats.isFile() && stats.size === 0)
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? undefined : []
  }
}

/** Config files are short. A file left by a command may have any size. */
const maxBytes = 2 ** 20

/** Undefined if it is not a file, too large, or not readable. Does not block on a named pipe. */
function textOf(file: string): string | undefined {
  try {
    const handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stats = fstatSync(handle)
      return stats.isFile() && stats.size <= maxBytes ? readFileSync(handle, 'utf8') : undefined
    } finally {
      closeSync(handle)
    }
  } catch {
    return undefined
  }
}
