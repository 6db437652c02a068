import type { ShellWord } from './commands-words.ts'
import { beforeDashes, showsOptions, valuesOf } from './commands-words.ts'

// Options by which a program runs another that is named in them.
const runsByOption: ReadonlyMap<string, RegExp> = new Map([
  ['tar', /^(?:--(?:to-c|checkpoint-a|use-c|rsh|rmt|info-s|new-vol)|-[a-zA-Z]*[IF])/],
  ['rsync', /^(?:--(?:rsh|rsync-p)|-[a-zA-Z]*e)/],
  ['rg', /^--(?:pre$|pre=|hostname-bin)/],
  ['sort', /^--comp/],
  ['zip', /^(?:-TT|--unz)/],
  ['man', /^(?:-[a-zA-Z]*[PH]|--pager|--html)/],
  ['nc', /^-[a-zA-Z]*[ec]/],
  ['ncat', /^(?:-[a-zA-Z]*[ec]|--(?:ex|sh|lua))/],
])

/** Whether the program may run, or write, something that its words do not show. */
export function carriesHidden(name: string, words: readonly ShellWord[]): boolean {
  const args = words.slice(1)
  const pattern = runsByOption.get(name)
  // tar takes its first letters without a dash, too.
  const dashless = name === 'tar' && pattern?.test(`-${args[0]?.value}`)
  if (pattern)
    return (
      dashless || beforeDashes(args).some((word) => !showsOptions(word) || pattern.test(word.value ?? ''))
    )
  switch (name) {
    case 'find':
      return args.some((word) => !showsOptions(word) || /^-f(?:print|ls)/.test(word.value ?? ''))
    case 'fd':
    case 'fdfind':
      return !args.every(showsOptions)
    case 'awk':
    case 'gawk':
    case 'mawk':
    case 'nawk':
      return !awkIsPlain(args)
    case 'sed':
    case 'gsed':
      return !sedIsPlain(args)
    case 'git':
      return gitCarries(args)
    default:
      return false
  }
}

function awkIsPlain(args: readonly ShellWord[]): boolean {
  let next = 0
  while (args[next]?.value?.startsWith('-')) {
    const option = args[next]?.value ?? ''
    if (!/^-[Fv]/.test(option)) return false
    next += option.length === 2 ? 2 : 1
  }
  const program = args[next]?.value
  if (program === undefined || program.length > 2_000) return false
  // `@` loads and calls by name; a pipe and getline run commands; print may write files.
  return !/system|getline|@|\||\bprintf?\b[^;}\n]*>/.test(program.replaceAll('||', ''))
}

const sedAddress = String.raw`(?:\d+|\$|/(?:\\.|[^/\\])*/)`
const sedCommand = new RegExp(
  String.raw`\s*(?:${sedAddress}(?:\s*,\s*[+~]?${sedAddress})?\s*!?)?\s*(?:s([^\s\w\\;])(?:\\.|(?!\1)[^\\])*\1(?:\\.|(?!\1)[^\\])*\1[gpIiMm\d]*|[=dDgGhHlnNpPx]|[qQ]\d*)\s*(?:;|\n|$)`,
  'y',
)

/** `e` runs commands and `w` writes files, also as flags of `s`. What cannot be read here may be either. */
function sedIsPlain(args: readonly ShellWord[]): boolean {
  const scripts: string[] = []
  const operands: ShellWord[] = []
  for (let next = 0; next < args.length; next++) {
    const word = args[next]
    const value = word?.value
    if (!word || !showsOptions(word)) return false
    if (!value?.startsWith('-')) operands.push(word)
    else if (value === '-e') scripts.push(args[++next]?.value ?? 'e')
    else if (
      !/^(?:-[nErszu]+|-[nErszu]*i(?:[.~]\S*)?|--(?:quiet|silent|regexp-extended|in-place))$/.test(value)
    )
      return false
  }
  if (scripts.length === 0) scripts.push(operands[0]?.value ?? 'e')
  return scripts.every(sedScriptIsPlain)
}

function sedScriptIsPlain(script: string): boolean {
  sedCommand.lastIndex = 0
  while (sedCommand.lastIndex < script.length) if (!sedCommand.test(script)) return false
  return true
}

const gitGlobal = /^(?:--no-pager|--no-optional-locks|--literal-pathspecs|--no-replace-objects|-P|--bare)$/
const gitSettings =
  /^(?:user\.(?:name|email)|color\.\w+|core\.(?:quotepath|autocrlf|safecrlf|filemode|ignorecase)|advice\.\w+|init\.defaultbranch|commit\.gpgsign|tag\.gpgsign|diff\.(?:noprefix|renames|mnemonicprefix)|log\.\w+|pull\.(?:rebase|ff)|push\.default|http\.\w+)=/i

/** Where git's subcommand stands among its arguments; undefined if an option before it is not known. */
export function gitSubcommand(args: readonly ShellWord[]): number | undefined {
  for (let next = 0; next < args.length; next++) {
    const value = args[next]?.value
    if (value === undefined) return undefined
    if (!value.startsWith('-')) return next
    if (value === '-C' || value === '-c') next++
    else if (!gitGlobal.test(value) && !/^--(?:git-dir|work-tree|namespace)=/.test(value)) return undefined
  }
  return args.length
}

/** No option of theirs runs or writes anything that they do not anyway: `git commit -m "$X"`. */
const gitHarmless =
  /^(?:add|branch|checkout|cherry-pick|commit|merge|mv|reset|restore|revert|rm|status|switch|tag)$/

/** Its settings name pagers, editors, hooks and helpers to run; so do some options and subcommands. */
function gitCarries(args: readonly ShellWord[]): boolean {
  const at = gitSubcommand(args)
  if (at === undefined) return !valuesOf(args)?.every((value) => /^--(?:version|help)$/.test(value))
  const set = args
    .slice(0, at)
    .some(({ value }, index) => value === '-c' && !gitSettings.test(args[index + 1]?.value ?? ''))
  if (set) return true
  const [subcommand = '', ...rest] = args.slice(at).map(({ value }) => value ?? '')
  if (!gitHarmless.test(subcommand) && !beforeDashes(args.slice(at + 1)).every(showsOptions)) return true
  if (subcommand === 'filter-branch' || (subcommand === 'bisect' && rest[0] === 'run')) return true
  if (subcommand === 'submodule' && rest.includes('foreach')) return true
  const letters =
    { rebase: 'x', grep: 'O', difftool: 'x', clone: 'uc', fetch: '', pull: '' }[subcommand] ?? ''
  return rest.some(
    (value) =>
      /^--(?:exec?|upl|receive-p|extc|open|ou|ext-d|textc|config|template)/.test(value) ||
      /^ext::|--\w+=ext::/.test(value) ||
      (letters !== '' && new RegExp(`^-[a-zA-Z]*[${letters}]`).test(value)),
  )
}
