import type { PlainWord } from './plain-line.ts'
import type { Operands } from './programs.ts'

const words = (text: string) => new Set(text.split(' '))

const readers = words(
  'status log diff show blame annotate rev-parse rev-list ls-files ls-tree cat-file shortlog describe grep merge-base name-rev diff-tree diff-index diff-files show-ref for-each-ref show-branch whatchanged range-diff cherry count-objects check-ignore check-attr version',
)
/** Subcommands that run what they are given, what a setting names, or what they set. */
const runners = words(
  'config difftool mergetool filter-branch bisect submodule hook instaweb send-email imap-send daemon http-backend upload-pack receive-pack shell web--browse citool gui credential for-each-repo maintenance svn p4 archimport cvsserver help request-pull remote-ext remote-fd upload-archive fast-import replay last-modified',
)
const listing =
  /^(?:-[avrl]+|-vv|--(?:list|all|remotes|show-current|verbose|no-color|color|column|no-column|merged|no-merged|sort=[\w:.-]+))$/
/** Git takes long options that are cut short, and letters together. */
const runningOptions =
  /^--(?:exec|upl|receive-p|extc|open|ou|o=|o$|ext-d|textc|config|templ|filters|no-ind)|^--[\w-]+=ext::|^ext::|^fd::/
const runningLetters: Readonly<Record<string, RegExp>> = {
  grep: /^-[^-].*O|^-O/,
  rebase: /^-[^-]*x/,
  clone: /^-[^-]*[uc]/,
  'ls-remote': /^-[^-]*u/,
  archive: /^-[^-]*o/,
}
const settingOptions = words('--no-pager -P --no-optional-locks --literal-pathspecs --no-replace-objects')

export interface GitCommand {
  /** Where the subcommand stands; undefined if an option before it is not known. */
  readonly at: number | undefined
  /** The folders of `-C`. */
  readonly folders: readonly PlainWord[]
  /** Which word makes it run something else. */
  readonly runsAt: number | undefined
  readonly readOnly: boolean
}

/** `args` without the name. What the repository's own settings run is a matter of the sandbox. */
export function readGit(args: readonly PlainWord[]): GitCommand {
  const folders: PlainWord[] = []
  let at = 0
  for (; args[at]?.value.startsWith('-'); at++) {
    const { value } = args[at] as PlainWord
    const folder = args[at + 1]
    if (value === '-C' && folder) {
      folders.push(folder)
      at++
    } else if (!settingOptions.has(value)) return { at: undefined, folders, runsAt: at, readOnly: false }
  }
  const [subcommand = '', ...rest] = args.slice(at).map(({ value }) => value)
  const running = rest.findIndex(
    (value) => runningOptions.test(value) || runningLetters[subcommand]?.test(value),
  )
  const reads = readsOnly(subcommand, rest)
  const runsAt =
    subcommand === '' || (runners.has(subcommand) && !reads) ? at : running < 0 ? undefined : at + 1 + running
  return { at, folders, runsAt, readOnly: reads && runsAt === undefined }
}

function readsOnly(subcommand: string, rest: readonly string[]): boolean {
  const [first = '', ...more] = rest
  switch (subcommand) {
    case 'branch':
      return rest.every((option) => listing.test(option))
    case 'tag':
      return (
        rest.length === 0 || (/^(?:-l|--list)$/.test(first) && !more.some((word) => word.startsWith('-')))
      )
    case 'remote':
      return (
        rest.every((option) => /^(?:-v|--verbose)$/.test(option)) ||
        (first === 'get-url' && more.length === 1)
      )
    case 'stash':
      return first === 'list' || first === 'show'
    case 'reflog':
      return rest.length === 0 || first === 'show' || first.startsWith('-')
    case 'worktree':
      return first === 'list'
    case 'config':
      return (
        /^(?:--get|--get-all|-l|--list|get|list)$/.test(first) &&
        more.every((word) => /^[\w.*-]+$/.test(word) && !/^--(?:e|f|b)/.test(word))
      )
    default:
      return readers.has(subcommand)
  }
}

const shown: Operands = {
  operands: 'read',
  values: 'G S U author before after since until grep max-count',
  reads: 'L',
}
const listed = 'pathspec-from-file'

/** Which words of git's subcommands are paths. */
export const gitOperands: ReadonlyMap<string, Operands> = new Map<string, Operands>([
  ...['diff', 'show', 'log', 'blame', 'annotate', 'cat-file', 'hash-object', 'apply', 'am'].map(
    (name) => [name, shown] as const,
  ),
  [
    'grep',
    {
      operands: 'read',
      first: 'none',
      unless: 'e f regexp file',
      values: 'A B C e m context max-count max-depth threads',
      reads: 'f file',
    },
  ],
  ['add', { operands: 'read', values: 'chmod', reads: listed }],
  [
    'commit',
    {
      operands: 'read',
      values: 'm c C message author date reuse-message reedit-message fixup squash trailer cleanup',
      reads: `F t file template ${listed}`,
    },
  ],
  ['checkout', { operands: 'write', values: 'b B orphan conflict', reads: listed }],
  ['restore', { operands: 'write', values: 's source conflict', reads: listed }],
  ['rm', { operands: 'write', reads: listed }],
  ['clean', { operands: 'write', values: 'e exclude' }],
  ['stash', { operands: 'write', values: 'm message', reads: listed }],
  ['mv', { operands: 'both', last: 'write' }],
])
