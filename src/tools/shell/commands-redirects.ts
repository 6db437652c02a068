import { homedir } from 'node:os'
import { isAbsolute, relative, resolve } from 'node:path'
import type { Redirect } from 'unbash'
import type { Glob, Reading, SeenAccess } from './commands-reading.ts'
import { opaqueRun } from './commands-reading.ts'
import type { ShellWord } from './commands-words.ts'
import { readWord } from './commands-words.ts'

/** Notes the file or the host that a redirection opens. */
export function readRedirect({ operator, target }: Redirect, reading: Reading): void {
  if (!target) return reading.found(() => opaqueRun(operator))
  // A substituted process is a pipe; what it runs is read as the rest is.
  if (target.parts?.length === 1 && target.parts[0]?.type === 'ProcessSubstitution') return
  const word = readWord(target)
  const { value } = word
  const copies = operator === '<&' || operator === '>&'
  if (copies && (/^(?:\d*-?|-)$/.test(value ?? 'x') || operator === '<&')) return
  if (/^\/dev\/(?:null|stdin|stdout|stderr|tty|fd\/\d+)$/.test(value ?? '')) return
  const socket = /^\/+dev\/+(?:tcp|udp)\/+([^/]+)/.exec(value ?? '')
  if (socket?.[1]) {
    const host = socket[1].toLowerCase()
    reading.found(() => ({ kind: 'fetch', host: host.includes(':') ? `[${host}]` : host }))
    return reading.found(() => opaqueRun(`${operator} ${word.text}`))
  }
  readPath(operator === '<' ? 'read' : 'write', word, reading)
}

export function readPath(
  kind: 'read' | 'write',
  word: ShellWord,
  reading: Reading,
  { implied = false }: { implied?: boolean } = {},
): void {
  reading.found((): SeenAccess => {
    const mark = implied && ({ implied } as const)
    const path = reading.elsewhere ? undefined : resolved(word, reading)
    if (path !== undefined) return { kind, path, ...mark }
    const glob = implied && globOf(word, reading)
    return { kind, path: word.value ?? word.text, opaque: true, ...mark, ...(glob && { glob }) }
  })
}

/** What the shell will look for on the disk, in full; undefined if that cannot be told. */
function globOf({ glob, start, text }: ShellWord, reading: Reading): Glob | undefined {
  const folder = start.startsWith('/') ? '/' : reading.folder()
  if (glob === undefined || folder === undefined || reading.elsewhere || !reading.plainGlobs())
    return undefined
  // As below: a folder that was entered may be a link.
  if (folder !== reading.cwd && text.includes('..')) return undefined
  return { folder, pattern: glob }
}

function resolved({ value, home }: ShellWord, { root, cwd, folder }: Reading): string | undefined {
  const written = home === undefined ? value : homedir() + home
  const base = isAbsolute(written ?? '') ? '/' : folder()
  if (!written || base === undefined) return undefined
  // Behind a link `..` is the folder above where that leads; the working directory itself has none in it.
  if (/(?:^|\/)(?!\.{1,2}\/)[^/]+\/(?:.*\/)?\.\.(?:\/|$)/.test(written)) return undefined
  if (base !== '/' && base !== cwd && /^(?:\.\/+)*\.\.(?:\/|$)/.test(written)) return undefined
  const path = resolve(base, written)
  const way = relative(root, path)
  if (way === '') return '.'
  return way === '..' || way.startsWith('../') || isAbsolute(way) ? path : way
}
