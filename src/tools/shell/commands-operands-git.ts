import { gitSubcommand } from './commands-carriers.ts'
import type { Operand } from './commands-operands-spec.ts'
import { below, operandsBy } from './commands-operands-spec.ts'
import { gitSpecs } from './commands-operands-table.ts'
import type { ShellWord } from './commands-words.ts'
import { beforeDashes, filledWord, literalWord } from './commands-words.ts'

/** A revision is taken for a path, too: there is seldom a file of that name. */
export function gitOperands(args: readonly ShellWord[], root: string): Operand[] {
  const at = gitSubcommand(args)
  if (at === undefined) return []
  const name = args[at]?.value ?? ''
  const spec = gitSpecs.get(name)
  if (!spec) return []
  const before = args.slice(0, at)
  const folder = before
    .filter((_, index) => before[index - 1]?.value === '-C')
    .reduce((outer: ShellWord | undefined, inner) => below(outer, inner), undefined)
  const rest = args.slice(at + 1)
  // Here an unknown word is a branch, as good as always.
  const revisions = new Set(
    name === 'checkout' || name === 'stash' ? beforeDashes(rest).filter(isUnknown) : [],
  )
  return operandsBy(spec, rest)
    .filter(({ word }) => !revisions.has(word))
    .flatMap(({ deed, word }) => pathsOf(word, root).map((path) => ({ deed, word: below(folder, path) })))
}

function isUnknown({ value, glob }: ShellWord): boolean {
  return value === undefined && glob === undefined
}

/** `HEAD:path`, `1,5:path` of `-L`, `:(top)path`; and git has globs of its own: gitglossary(7), pathspec. */
function pathsOf(word: ShellWord, root: string): ShellWord[] {
  const { value } = word
  if (value === undefined) return [word]
  if (/[*?[]/.test(value)) return [filledWord(word.text, false)]
  const plain = value.replace(/^:(?:\([^)]*\)|[/!^]+)/, '')
  const parts = [plain, ...[plain.indexOf(':'), plain.lastIndexOf(':')].map((at) => plain.slice(at + 1))]
  // From the top of the repository, unless it begins with a dot.
  const tops = value.includes(':')
    ? parts.map((part) => (part.startsWith('/') ? part : `${root}/${part}`))
    : []
  return [...new Set([...parts, ...tops])].map(literalWord)
}
