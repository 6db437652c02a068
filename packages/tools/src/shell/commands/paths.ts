import { isAbsolute, relative, resolve } from 'node:path'
import type { PathAccess } from 'millrace/internal'
import { operandsOf } from './operands.ts'
import type { PlainRedirect, PlainWord, SeenAccess } from './plain-line.ts'

/** Where a line runs, as absolute real paths. */
export interface Place {
  readonly root: string
  readonly cwd: string
  /** What `~` stands for. */
  readonly home: string
}

/** Where one of its commands runs. */
interface Where extends Place {
  /** Undefined if that is not known. */
  readonly folder: string | undefined
  /** Another command of the line may put a link in the way by the time a path is opened. */
  readonly isLinked?: boolean
}

/** More than a person reads; each is looked up on the disk. */
const mostOperands = 200

const allStreams = /^\/dev\/(?:null|stdin|stdout|stderr|tty|zero|u?random|fd\/\d+)$/

/** Bash opens a connection for such a name. */
export function isSocket({ target }: PlainRedirect): boolean {
  return /^\/+dev\/+(?:tcp|udp)\//.test(target.value)
}

/** A file that a glob would find, and a program take for an option. */
export function makesOption({ operator, target }: PlainRedirect): boolean {
  return operator.includes('>') && /(?:^|\/)-[^/]*$/.test(target.value)
}

/** The files that redirections open. */
export function redirectAccess(redirects: readonly PlainRedirect[], where: Where): SeenAccess[] {
  // What is read as a stream can be a file of the same command, and opened anew is written.
  const isFed = redirects.some(({ operator }) => operator.startsWith('<'))
  const written = isFed ? /^\/dev\/(?:null|tty)$/ : /^\/dev\/(?:null|tty|stdout|stderr)$/
  return redirects.flatMap(({ operator, target }) => {
    const isRead = operator === '<'
    if (/&$|^<<$/.test(operator) || (isRead ? allStreams : written).test(target.value)) return []
    return [pathAccess(isRead ? 'read' : 'write', target, where)]
  })
}

/** The files that a well-known program is given, for rules that deny or ask. */
export function operandAccess(
  words: readonly PlainWord[],
  where: Where,
  { readOnly = false } = {},
): SeenAccess[] {
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
    if (named.length > mostOperands)
      return [{ kind, path: `${named.length} paths`, opaque: true, implied: true } as const]
    return named.map(
      ({ word, unknown }): SeenAccess => ({
        ...(unknown ? { kind, path: word.value, opaque: true } : pathAccess(kind, word, where)),
        implied: true,
      }),
    )
  })
}

function pathAccess(kind: 'read' | 'write', word: PlainWord, where: Where): PathAccess & SeenAccess {
  const { value, glob, home } = word
  const unknown = { kind, path: value, opaque: true }
  if (where.isLinked) return unknown
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

function resolved(written: string, { root, cwd, folder }: Where): string | undefined {
  if (!isAbsolute(written) && folder === undefined) return undefined
  // Behind a link `..` is the folder above where that leads; the working directory itself has none in it.
  if (/(?:^|\/)(?!\.{1,2}\/)[^/]+\/(?:.*\/)?\.\.(?:\/|$)/.test(written)) return undefined
  if (!isAbsolute(written) && folder !== cwd && /^(?:\.\/+)*\.\.(?:\/|$)/.test(written)) return undefined
  const path = resolve(folder ?? '/', written)
  const way = relative(root, path)
  if (way === '') return '.'
  return way === '..' || way.startsWith('../') || isAbsolute(way) ? path : way
}
