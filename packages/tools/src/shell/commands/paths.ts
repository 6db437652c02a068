import { isAbsolute, relative, resolve } from 'node:path'
import type { PathAccess } from 'millrace/internal'
import { operandsOf } from './operands.ts'
import type { PlainRedirect, PlainWord, WrittenAccess } from './plain-line.ts'

/** The folders that a line depends on, as absolute real paths. */
export interface ShellFolders {
  readonly root: string
  readonly cwd: string
  /** The value of `~`. */
  readonly home: string
}

/** The folders that one command of a line depends on. */
interface CommandFolders extends ShellFolders {
  /** The command's working directory; undefined if unknown. */
  readonly folder: string | undefined
  /** Another command of the line may create a link before a path is opened. */
  readonly mayBeLinked?: boolean
}

/** More than a person reads; each one costs a disk lookup. */
const maxOperands = 200

const allStreams = /^\/dev\/(?:null|stdin|stdout|stderr|tty|zero|u?random|fd\/\d+)$/

/** Bash opens a network connection for such a name. */
export function isSocket({ target }: PlainRedirect): boolean {
  return /^\/+dev\/+(?:tcp|udp)\//.test(target.value)
}

/** Whether it creates a file that a later glob would turn into an option. */
export function makesOption({ operator, target }: PlainRedirect): boolean {
  return operator.includes('>') && /(?:^|\/)-[^/]*$/.test(target.value)
}

/** The files that redirections open. */
export function redirectAccess(redirects: readonly PlainRedirect[], where: CommandFolders): WrittenAccess[] {
  // With input, `/dev/stdout` may be the input file opened again, for writing.
  const isFed = redirects.some(({ operator }) => operator.startsWith('<'))
  const written = isFed ? /^\/dev\/(?:null|tty)$/ : /^\/dev\/(?:null|tty|stdout|stderr)$/
  return redirects.flatMap(({ operator, target }) => {
    const isRead = operator === '<'
    if (/&$|^<<$/.test(operator) || (isRead ? allStreams : written).test(target.value)) return []
    return [pathAccess(isRead ? 'read' : 'write', target, where)]
  })
}

/** The files among the arguments of a known program, for deny and ask rules. */
export function operandAccess(
  words: readonly PlainWord[],
  where: CommandFolders,
  { readOnly = false } = {},
): WrittenAccess[] {
  const name = words[0]?.value ?? ''
  const base = name.slice(name.lastIndexOf('/') + 1).toLowerCase()
  const operands = operandsOf(base, words.slice(1), where.root)
  return (['read', 'write'] as const).flatMap((kind) => {
    if (kind === 'write' && readOnly) return []
    const named = operands.filter(
      ({ mode, word }) =>
        (mode === kind || mode === 'both') &&
        word.value !== '' &&
        word.value !== '-' &&
        !allStreams.test(word.value),
    )
    if (named.length > maxOperands)
      return [{ kind, path: `${named.length} paths`, opaque: true, implied: true } as const]
    return named.map(
      ({ word, unknown }): WrittenAccess => ({
        ...(unknown ? { kind, path: word.value, opaque: true } : pathAccess(kind, word, where)),
        implied: true,
      }),
    )
  })
}

function pathAccess(
  kind: 'read' | 'write',
  word: PlainWord,
  where: CommandFolders,
): PathAccess & WrittenAccess {
  const { value, glob, home } = word
  const unknown = { kind, path: value, opaque: true }
  if (where.mayBeLinked) return unknown
  if (glob !== undefined) {
    const folder = value.startsWith('/') ? '/' : where.folder
    const leadsAbove = where.folder !== where.cwd && value.includes('..')
    return folder === undefined || home || leadsAbove
      ? unknown
      : { ...unknown, glob: { folder, pattern: glob } }
  }
  const path = resolved(home ? where.home + value.slice(1) : value, where)
  return path === undefined ? unknown : { kind, path }
}

function resolved(written: string, { root, cwd, folder }: CommandFolders): string | undefined {
  if (!isAbsolute(written) && folder === undefined) return undefined
  // After a link, `..` is the parent of its target. The working directory itself contains no link.
  if (/(?:^|\/)(?!\.{1,2}\/)[^/]+\/(?:.*\/)?\.\.(?:\/|$)/.test(written)) return undefined
  if (!isAbsolute(written) && folder !== cwd && /^(?:\.\/+)*\.\.(?:\/|$)/.test(written)) return undefined
  const path = resolve(folder ?? '/', written)
  const way = relative(root, path)
  if (way === '') return '.'
  return way === '..' || way.startsWith('../') || isAbsolute(way) ? path : way
}
