import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { protectedNames } from '../../permission/protected.ts'
import { gitlinks } from './git-index.ts'
import { isWithin, kindOf, resolved } from './places.ts'

/** A path that takes effect outside, later. It need not exist yet. */
export interface Sensitive {
  readonly at: string
  /** What an entry of `writable` must name, whole or in part, to leave it open. */
  readonly anchor: string
  /** An empty one does no harm: it is made if it is missing, so that it can be mounted read-only. */
  readonly make?: 'file' | 'folder' | undefined
  /** Whether what a command has put there makes nothing run. */
  readonly isHarmless: () => boolean
}

/** So much is looked at for each command: an entry counts once, a folder as twenty. That is about 1,000 folders. */
const effort = 25_000
const folderEffort = 20

/**
 * Every path in these folders that git or another tool would run something for: of all repositories that a walk finds, breadth
 * first and within `effort`, and of those that the index of one of them names, however deep they lie. Folders are real paths.
 */
export function sensitiveIn(folders: readonly string[]): Sensitive[] {
  const found = new Map<string, Sensitive>()
  const seen = new Set<string>()
  const queue = [...folders]
  let left = effort

  const isOwn = (path: string) => folders.some((folder) => isWithin(path, folder))
  const isNew = (key: string) => !seen.has(key) && Boolean(seen.add(key))
  const add = (one: Sensitive) => {
    if (isOwn(one.at) && !found.has(one.at)) found.set(one.at, one)
  }

  function look(folder: string) {
    const entries = entriesOf(folder)
    left -= folderEffort + (entries?.length ?? 0)
    const names = new Set(entries?.map(({ name }) => name))
    // One that cannot be listed may hold anything.
    if (!entries || names.has('.git')) repositoryAt(join(folder, '.git'))
    const isBare =
      names.has('HEAD') && (names.has('commondir') || (names.has('objects') && names.has('refs')))
    if (isBare) gitFolder(folder, { anchor: folder })
    for (const entry of entries ?? []) {
      const at = `${folder}/${entry.name}`
      // A project that a command has cloned or begun has its own, which count once that folder is opened by itself.
      if (protectedNames.has(entry.name)) add({ ...named(at), isHarmless: () => true })
      if (entry.name === 'node_modules') for (const one of packagesIn(at)) repositoryAt(`${one}/.git`)
      else if (entry.isDirectory() && entry.name !== '.git' && !(isBare && entry.name === 'objects'))
        queue.push(at)
    }
  }

  /** What is in it is not worth a walk, but a repository can be put there as well as elsewhere. */
  function packagesIn(modules: string): string[] {
    const entries = entriesOf(modules) ?? []
    left -= folderEffort + entries.length
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
      // It can be moved aside, but not made to lead elsewhere: where it leads to is looked at like any other.
      add({ at, anchor: at, isHarmless: () => true })
      const [, target] = /^gitdir: (.+)/s.exec(textOf(at) ?? '') ?? []
      if (target) gitFolder(resolve(top, target.trimEnd()), { top })
    } else gitFolder(at, { top, anchor: at })
  }

  function gitFolder(path: string, { top, anchor }: { top?: string; anchor?: string }) {
    const git = resolved(path)
    if (git === undefined) return
    // Of one that lies outside the settings are read-only, but may name what lies inside.
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
    // `git status` asks each of these for its state, and so runs what its settings name.
    if (top !== undefined) for (const path of gitlinks(git)) repositoryAt(join(top, path, '.git'))
  }

  /** What settings lead to: other settings, under whatever condition, and a folder of hooks. */
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

function named(at: string): Sensitive {
  return { at, anchor: at, isHarmless: () => isEmpty(at) }
}

function config(at: string): Sensitive {
  return { at, anchor: at, isHarmless: () => isPlainFile(at) && isPlainConfig(textOf(at)) }
}

function hooks(at: string): Sensitive {
  const isHarmless = () =>
    kindOf(at) === 'folder' && (entriesOf(at)?.every(({ name }) => name.endsWith('.sample')) ?? false)
  return { at, anchor: at, isHarmless }
}

/** As `git worktree add` has it. */
function isWorktree(commondir: string): boolean {
  const isThere = basename(dirname(dirname(commondir))) === 'worktrees'
  return isThere && isPlainFile(commondir) && textOf(commondir)?.trim() === '../..'
}

/** No link, and by no second name: what is read now could be changed by that later. */
function isPlainFile(at: string): boolean {
  const stats = lstatSync(at, { throwIfNoEntry: false })
  return stats === undefined || (stats.isFile() && stats.nlink === 1)
}

/** Settings as `git clone`, `git init` and `git submodule` write them. None of these makes git run anything. */
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

/** Whether these are only such settings. What is written in a way that git rarely writes is not looked at any closer. */
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

/** Settings are short. What a command has left there may be of any size. */
const maxBytes = 2 ** 20

/** Undefined if it is no file, too long, or not to be read. Does not wait for the other end of a pipe. */
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
