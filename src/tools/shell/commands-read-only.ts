import { isAbsolute, relative, resolve } from 'node:path'
import { gitSubcommand } from './commands-carriers.ts'
import type { ShellWord } from './commands-words.ts'
import { beforeDashes, showsOptions, valuesOf } from './commands-words.ts'

// Read and print, whatever their words.
const always = new Set(
  'ls cat head tail wc pwd echo true false cd which type stat du df uname whoami id basename dirname realpath readlink cut tr grep egrep fgrep diff cmp comm md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum seq sleep nl tac rev column jq od strings printenv nproc'.split(
    ' ',
  ),
)

/** For rules: commands whose first word behind the options is a file or a text, never a subcommand. */
const takesOperands = new Set(
  'rm rmdir mkdir touch cp mv ln chmod chown chgrp tee install truncate dd kill pkill killall mktemp sort uniq tree find fd fdfind rg file date hostname sed gsed awk gawk mawk nawk curl wget tar zip unzip gzip gunzip less more patch rsync scp xxd hexdump'.split(
    ' ',
  ),
)

export function hasSubcommands(name: string): boolean {
  return !always.has(name) && !takesOperands.has(name)
}

/** Whether it is known to change nothing. `words` begin with a bare name; `root` and `cwd` are for `git -C`. */
export function isReadOnly(
  words: readonly ShellWord[],
  at: { readonly root: string; readonly cwd: string },
): boolean {
  const name = words[0]?.value ?? ''
  const args = words.slice(1)
  if (always.has(name)) return true
  const values = args.map(({ value }) => value)
  const shows = beforeDashes(args).every(showsOptions)
  const none = (...options: readonly RegExp[]) =>
    shows && values.every((value) => !options.some((option) => option.test(value ?? '')))
  switch (name) {
    case 'hostname':
      return args.length === 0
    case 'command':
      return true
    case 'date':
      return none() && dateOnlyTells(values)
    case 'file':
      return none(/^-[a-zA-Z]*C/, /^--c/)
    case 'uniq':
      // Of two operands the second is written. A value apart from its option counts as one, to be safe.
      return (
        shows &&
        args.filter(({ value, many }) => many || !value?.startsWith('-')).length < 2 &&
        !args.some(({ many }) => many)
      )
    case 'sort':
      return none(/^-[^-]*[oT]/, /^--(?:o|c|t)/)
    case 'rg':
      return none(/^--(?:pre$|pre=|hostname-bin)/)
    case 'tree':
      return none(/^-[a-zA-Z]*[oR]/, /^--o/)
    case 'find':
      return none(/^-(?:delete|fprint|fls)/)
    case 'fd':
    case 'fdfind':
      return shows
    case 'xargs':
      return true
    case 'sed':
      return (
        none() &&
        /^-[nEsz]*n[Esz]*$/.test(values[0] ?? '') &&
        /^(?:\d+|\$)(?:,(?:\d+|\$))?p$/.test(values[1] ?? '') &&
        !values.slice(2).some((value) => value?.startsWith('-'))
      )
    case 'git':
      return shows && gitOnlyTells(args, at)
    case 'exec':
      return args.length === 0
    case 'node':
    case 'npm':
    case 'npx':
    case 'python':
    case 'python3':
    case 'bash':
      return args.length === 1 && /^(?:--version|-[vV])$/.test(values[0] ?? '')
    default:
      return false
  }
}

function dateOnlyTells(values: readonly (string | undefined)[]): boolean {
  return values.every((value, index) => {
    if (/^-[dr]$|^--(?:date|reference)$/.test(values[index - 1] ?? '')) return true
    return /^(?:\+|-[uR]+$|-[dr]|-I|--(?:utc|universal|iso-8601|rfc-\w+|date|reference)(?:=|$))/.test(
      value ?? '',
    )
  })
}

const gitTells = new Set(
  'status log diff show blame annotate rev-parse rev-list ls-files ls-tree cat-file shortlog describe grep merge-base name-rev diff-tree show-ref'.split(
    ' ',
  ),
)
const gitListing =
  /^(?:-[avrl]+|-vv|--(?:list|all|remotes|show-current|verbose|no-color|color|column|no-column))$/

const gitWrites = /^--(?:o(?:u|=|$)|ext|textc|filt|no-index)/

/** Its pager is off without a terminal; what the repository's own settings run is a matter of the sandbox. */
function gitOnlyTells(args: readonly ShellWord[], { root, cwd }: { root: string; cwd: string }): boolean {
  const at = gitSubcommand(args)
  const before = at === undefined ? undefined : valuesOf(args.slice(0, at))
  if (at === undefined || !before) return args.length === 1 && args[0]?.value === '--version'
  const stays = before.every((option, index) => {
    if (before[index - 1] === '-C') return isBelow(root, resolve(cwd, option))
    return option === '-C' || option === '--no-pager' || option === '-P' || option === '--no-optional-locks'
  })
  if (!stays) return false
  const [subcommand = '', ...rest] = args.slice(at).map(({ value }) => value ?? '')
  if (gitTells.has(subcommand))
    return !rest.some(
      (option) => gitWrites.test(option) || (subcommand === 'grep' && /^(?:-[a-zA-Z]*O|--op)/.test(option)),
    )
  switch (subcommand) {
    case 'branch':
      return rest.every((option) => gitListing.test(option))
    case 'tag':
      return (
        rest.length === 0 ||
        (/^(?:-l|--list)$/.test(rest[0] ?? '') && !rest.slice(1).some((option) => option.startsWith('-')))
      )
    case 'remote':
      return rest.every((option) => option === '-v' || option === '--verbose')
    case 'stash':
      return rest[0] === 'list' && !rest.some((option) => gitWrites.test(option))
    default:
      return false
  }
}

function isBelow(root: string, path: string): boolean {
  const way = relative(root, path)
  return way !== '..' && !way.startsWith('../') && !isAbsolute(way)
}
