import { parseOptions } from './options.ts'
import type { PlainWord } from './plain-line.ts'
import type { Program } from './programs.ts'
import { namesIn, programNamed } from './programs.ts'

/** Transports that run a program. */
const transport = /^(?:--[\w-]+=)?(?:ext|fd)::/
const listing =
  /^(?:-[avrl]+|-vv|--(?:list|all|remotes|show-current|verbose|no-color|color|column|no-column|merged|no-merged|sort=[\w:.-]+))$/

export interface GitCommand {
  /** Index of the subcommand; undefined if an option before it is unknown. */
  readonly at: number | undefined
  readonly subcommand: Program | undefined
  /** The folders of `-C`. */
  readonly folders: readonly PlainWord[]
  /** Index of the word that makes it run another program. */
  readonly runsAt: number | undefined
  readonly readOnly: boolean
}

/**
 * `args` without `git` itself. Programs named in the repository's own config are left to the
 * sandbox.
 */
export function readGit(args: readonly PlainWord[]): GitCommand {
  const git = programNamed('git')
  const { options, end: at } = parseOptions(args, (name) => (name === 'C' ? 1 : 0), { stops: true })
  const unknown = options.find(({ name }) => name !== 'C' && !namesIn(git?.flags).includes(name))
  const folders = options.flatMap(({ name, value }) => (name === 'C' && value ? [value] : []))
  const none = { subcommand: undefined, folders, readOnly: false }
  if (unknown || args[at] === undefined) return { ...none, at: undefined, runsAt: unknown?.at ?? 0 }
  const name = args[at]?.value ?? ''
  const rest = args.slice(at + 1)
  const subcommand = programNamed(`git-${name}`)
  const reads = readsOnly(
    name,
    rest.map(({ value }) => value),
  )
  const runsAt = rest.findIndex(
    ({ value }) => transport.test(value) || runsProgram(value, `${git?.runs} ${subcommand?.runs}`),
  )
  const common = { at, subcommand, folders }
  if (subcommand?.kind === 'runs' && !reads) return { ...common, runsAt: at, readOnly: false }
  return runsAt < 0
    ? { ...common, runsAt: undefined, readOnly: reads || subcommand?.kind === 'reads' }
    : { ...common, runsAt: at + 1 + runsAt, readOnly: false }
}

/** Long names may be abbreviated, and letters combined, also with digits: `git grep -5Oprogram`. */
function runsProgram(word: string, runs: string): boolean {
  const [name] = word.slice(2).split('=')
  if (word.startsWith('--') && name)
    return namesIn(runs).some((full) => full.length > 1 && full.startsWith(name))
  return word.startsWith('-') && [...word.slice(1)].some((letter) => namesIn(runs).includes(letter))
}

/** For subcommands that only read with some arguments and make changes with others. */
function readsOnly(subcommand: string, [first = '', ...more]: readonly string[]): boolean {
  const rest = first === '' ? [] : [first, ...more]
  switch (subcommand) {
    case 'branch':
      return rest.every((option) => listing.test(option))
    case 'tag':
      return (
        rest.length === 0 || (/^(?:-l|--list)$/.test(first) && !more.some((word) => word.startsWith('-')))
      )
    case 'remote':
      return (
        rest.every((word) => /^(?:-v|--verbose)$/.test(word)) || (first === 'get-url' && more.length === 1)
      )
    case 'stash':
      return first === 'list' || first === 'show'
    case 'reflog':
      return rest.length === 0 || first === 'show' || first.startsWith('-')
    case 'worktree':
      return first === 'list'
    case 'config':
      return (
        /^(?:--get|--get-all|-l|--list|get|list)$/.test(first) && more.every((word) => /^[\w.*]+$/.test(word))
      )
    default:
      return false
  }
}
