import { lstatSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { findsOption } from '../globs.ts'
import { followLinks } from '../links.ts'
import { readGit } from './git.ts'
import { hasOption, isOptionOf, isTar, valueCountOf, withDashes } from './operands.ts'
import { parseOptions } from './options.ts'
import type { PlainWord } from './plain-line.ts'
import type { Program } from './programs.ts'
import { namesIn, programNamed } from './programs.ts'
import { onlyReads, specialPrograms } from './special-programs.ts'
import { quoted, textOf } from './text.ts'

/** Where a command runs. */
export interface CommandContext {
  readonly root: string
  /** The working directory; undefined if unknown. */
  readonly folder: string | undefined
  /** Its stdin is a pipe or a file. */
  readonly hasInput: boolean
  /** The line may create files before its globs are expanded. */
  readonly mayCreateFiles?: boolean
}

/** What is known about one simple command from its words. */
export interface CheckedCommand {
  /** Without wrappers such as `timeout 5`. */
  readonly words: readonly PlainWord[]
  readonly text: string
  readonly readOnly: boolean
  /**
   * Set if it may do something that its words do not show: why, and the beginning (`form`) that an allow
   * rule with a `*` has to name. Without a form, only a rule for the exact command or line allows it.
   */
  readonly opaque?: { readonly form: string | undefined; readonly why: string } | undefined
  /** It changes how the shell reads the rest of the line. */
  readonly wholeLine?: true
  /** It opens files that are not among its arguments. */
  readonly opensOtherFiles?: true
  readonly links?: true
}

// Variables that change a program's output, not what it runs.
const harmlessVariables =
  /^(?:CI|NODE_ENV|LC_[A-Z]+|LANG|LANGUAGE|TZ|NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE|COLUMNS|LINES|TERM|DEBUG|RUST_BACKTRACE|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|GIT_PAGER=cat|PAGER=cat)$/

export function checkCommand(
  words: readonly PlainWord[],
  assignments: readonly (readonly [name: string, value: string])[],
  at: CommandContext,
): CheckedCommand {
  const set = assignments.filter(
    ([name, value]) => !harmlessVariables.test(name) && !harmlessVariables.test(`${name}=${value}`),
  )
  const own = wrapped(words) ?? checkWords(words, at)
  if (set.length === 0 || own.wholeLine) return own
  // Before a special builtin, an assignment stays in effect for the rest of the line.
  if (own.words[0]?.value === 'set') return { ...own, wholeLine: true }
  const prefix = set.map(([name, value]) => `${name}=${value && quoted(value)}`).join(' ')
  const form = own.opaque ? own.opaque.form : textOf(own.words.slice(0, 1))
  return {
    ...own,
    text: `${prefix} ${own.text}`,
    readOnly: false,
    opaque: { form: form && `${prefix} ${form}`, why: 'a variable can change what a program runs' },
  }

  /** The command that a wrapper such as `timeout` runs. */
  function wrapped([name, ...args]: readonly PlainWord[]): CheckedCommand | undefined {
    const program = programNamed(name?.value ?? '')
    if (!name || program?.kind !== 'wraps') return undefined
    const { options, end } = parseOptions(args, valueCountOf(program), { stops: true })
    const text = textOf([name, ...args])
    const isKnown = options.every(({ name }) => namesIn(`${program.flags} ${program.values}`).includes(name))
    if (name.value === 'command' && options.some((option) => /^[vV]$/.test(option.name)))
      return { words: [name, ...args], text, readOnly: true }
    const skipped = program.most ?? 0
    const durations = args.slice(end, end + skipped)
    const inner = args.slice(end + skipped)
    if (!isKnown || inner.length === 0 || !durations.every(({ value }) => /^[\d.]+[smhd]?$/.test(value)))
      return { words: [name, ...args], text, readOnly: false, opaque: { form: name.value, why: program.why } }
    return checkCommand(inner, [], at)
  }
}

function checkWords(words: readonly PlainWord[], at: CommandContext): CheckedCommand {
  const name = words[0]?.value ?? ''
  const args = words.slice(1)
  const base = name.slice(name.lastIndexOf('/') + 1)
  // On case-insensitive file systems `GIT` is `git`.
  const program = programNamed(base) ?? programNamed(base.toLowerCase())
  const text = textOf(words)
  const common = { words, text, ...(program?.links && { links: true as const }) }
  const opaqueAt = (index: number, why = program?.why ?? ''): CheckedCommand => ({
    ...common,
    readOnly: false,
    opaque: { form: textOf(words.slice(0, index + 1)), why },
  })
  const option = onlyReads(words[0])
    ? -1
    : args.findIndex(
        (word) =>
          word.glob !== undefined && findsOption(word.glob, at.mayCreateFiles ? undefined : at.folder),
      )
  if (option >= 0) return opaqueAt(option + 1, 'a file whose name starts with - would be read as an option')
  // With a path, it may be any program of that name.
  const isBare = base === name && programNamed(base) !== undefined
  if (!program) return { ...common, readOnly: false }
  if (args.length === 1 && namesIn(program.version).includes(args[0]?.value ?? '') && !at.hasInput)
    return { ...common, readOnly: isBare }

  const form = specialPrograms.get(base)?.(words)
  if (form) {
    if (form.opaqueAt === -1) return { ...opaqueAt(0), wholeLine: true }
    if (form.opaqueAt !== undefined) return opaqueAt(form.opaqueAt)
    return {
      ...common,
      readOnly: form.readOnly && isBare,
      ...(form.opensOtherFiles && { opensOtherFiles: true }),
    }
  }
  if (program.kind === 'shell') return { ...opaqueAt(0), wholeLine: true }
  if (program.kind === 'runs' || program.kind === 'wraps') return opaqueAt(0)
  if (base.toLowerCase() === 'git') {
    const { at: start = 0, runsAt, readOnly, folders } = readGit(args)
    if (runsAt !== undefined) return opaqueAt(runsAt + 1)
    const folder = folders.reduce(
      (outer: string | undefined, { value, glob, home }) =>
        outer === undefined || glob !== undefined || home ? undefined : resolve(outer, value),
      at.folder,
    )
    if (!isOwnRepository(folder, at.root))
      return {
        ...common,
        readOnly: false,
        opaque: { form: undefined, why: 'the settings of another repository can name programs to run' },
      }
    // `git --no-pager -C src log` is `git log`.
    const own = readOnly || folders.length === 0 ? textOf([...words.slice(0, 1), ...args.slice(start)]) : text
    return { ...common, text: own, readOnly: readOnly && isBare }
  }
  return checkOptions(program, base, { args, common, opaqueAt, isBare })
}

interface OptionCheck {
  readonly args: readonly PlainWord[]
  readonly common: Pick<CheckedCommand, 'words' | 'text' | 'links'>
  readonly opaqueAt: (index: number) => CheckedCommand
  readonly isBare: boolean
}

function checkOptions(
  program: Program,
  base: string,
  { args, common, opaqueAt, isBare }: OptionCheck,
): CheckedCommand {
  const given = parseOptions(isTar(base) ? withDashes(program, args) : args, valueCountOf(program), {
    stops: program.stops === 1,
  })
  const { options, operands, late } = given
  const unknown = options.find(
    ({ name }) => isOptionOf(name, program.runs) || (program.flags !== undefined && !program.known.has(name)),
  )
  // tar's combined letters have been split into words, so the index does not apply.
  if (unknown) return opaqueAt(isTar(base) ? args.length : unknown.at + 1)
  if (isTar(base)) {
    // A colon means a remote host, which tar reaches by running a program.
    const isRemote = options.some(
      ({ name, value }) => isOptionOf(name, program.archive) && value?.value.includes(':'),
    )
    if (isRemote) return opaqueAt(args.length)
    return { ...common, readOnly: isBare && hasOption(given, 't list') && !hasOption(given, tarChanges) }
  }
  if (base === 'date' && operands.some(({ value }) => !value.startsWith('+')))
    return { ...common, readOnly: false }
  const changes =
    hasOption(given, program.writes) ||
    hasOption(given, program.changing) ||
    (program.most !== undefined && operands.length + late > program.most)
  return { ...common, readOnly: isBare && program.kind === 'reads' && !changes }
}

const tarChanges = 'A c r u x g delete create append update extract get concatenate'

/**
 * Whether it is the workspace's own repository, not another one with a config that was never reviewed.
 */
function isOwnRepository(folder: string | undefined, root: string): boolean {
  const real = folder === undefined ? undefined : followLinks(folder)
  if (real === undefined) return false
  for (let path = real; path !== root; path = dirname(path))
    if (path === dirname(path) || mayExist(`${path}/.git`) || mayExist(`${path}/HEAD`)) return false
  return true
}

/**
 * True also for a dangling link, which git treats as an unborn branch, and for paths that cannot be
 * read.
 */
function mayExist(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return true
  }
}
