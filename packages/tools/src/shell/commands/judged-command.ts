import { lstatSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { findsOption } from '../globs.ts'
import { followed } from '../links.ts'
import { forms, onlyReads } from './forms.ts'
import { readGit } from './git.ts'
import { dashed, gives, isAmong, isTar, takesOf } from './operands.ts'
import { parted } from './options.ts'
import type { PlainWord } from './plain-line.ts'
import type { Program } from './programs.ts'
import { namesIn, programNamed } from './programs.ts'
import { quoted, textOf } from './text.ts'

/** Where a command runs. */
export interface Surroundings {
  readonly root: string
  /** Undefined if that is not known. */
  readonly folder: string | undefined
  /** It is given something to read that is not in its words. */
  readonly fed: boolean
  /** The line itself may make files by the time its globs are looked up. */
  readonly makes?: boolean
}

/** One simple command, as its words show it. */
export interface JudgedCommand {
  /** Without those that only run it, such as `timeout 5`. */
  readonly words: readonly PlainWord[]
  readonly text: string
  readonly readOnly: boolean
  /** Why it may run something that its words do not show, and what a rule with a `*` has to name; without a form none will do. */
  readonly opaque?: { readonly form: string | undefined; readonly why: string } | undefined
  /** It changes the shell that reads the rest of the line. */
  readonly wholeLine?: true
  /** It opens files that are not among its words. */
  readonly opens?: true
  readonly links?: true
}

// They change how a program prints, not what it runs.
const harmlessVariables =
  /^(?:CI|NODE_ENV|LC_[A-Z]+|LANG|LANGUAGE|TZ|NO_COLOR|FORCE_COLOR|CLICOLOR|CLICOLOR_FORCE|COLUMNS|LINES|TERM|DEBUG|RUST_BACKTRACE|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|GIT_PAGER=cat|PAGER=cat)$/

export function judgeCommand(
  words: readonly PlainWord[],
  assignments: readonly (readonly [name: string, value: string])[],
  at: Surroundings,
): JudgedCommand {
  const set = assignments.filter(
    ([name, value]) => !harmlessVariables.test(name) && !harmlessVariables.test(`${name}=${value}`),
  )
  const own = wrapped(words) ?? judgeWords(words, at)
  if (set.length === 0 || own.wholeLine) return own
  // In front of a special builtin it stays for the rest of the line.
  if (own.words[0]?.value === 'set') return { ...own, wholeLine: true }
  const prefix = set.map(([name, value]) => `${name}=${value && quoted(value)}`).join(' ')
  const form = own.opaque ? own.opaque.form : textOf(own.words.slice(0, 1))
  return {
    ...own,
    text: `${prefix} ${own.text}`,
    readOnly: false,
    opaque: { form: form && `${prefix} ${form}`, why: 'a variable can change what a program runs' },
  }

  /** What a program such as `timeout` runs. */
  function wrapped([name, ...args]: readonly PlainWord[]): JudgedCommand | undefined {
    const program = programNamed(name?.value ?? '')
    if (!name || program?.kind !== 'wraps') return undefined
    const { options, end } = parted(args, takesOf(program), { stops: true })
    const text = textOf([name, ...args])
    const isKnown = options.every(({ name }) => namesIn(`${program.flags} ${program.values}`).includes(name))
    if (name.value === 'command' && options.some((option) => /^[vV]$/.test(option.name)))
      return { words: [name, ...args], text, readOnly: true }
    const skipped = program.most ?? 0
    const durations = args.slice(end, end + skipped)
    const inner = args.slice(end + skipped)
    if (!isKnown || inner.length === 0 || !durations.every(({ value }) => /^[\d.]+[smhd]?$/.test(value)))
      return { words: [name, ...args], text, readOnly: false, opaque: { form: name.value, why: program.why } }
    return judgeCommand(inner, [], at)
  }
}

function judgeWords(words: readonly PlainWord[], at: Surroundings): JudgedCommand {
  const name = words[0]?.value ?? ''
  const args = words.slice(1)
  const base = name.slice(name.lastIndexOf('/') + 1)
  // Some file systems do not tell `GIT` from `git`.
  const program = programNamed(base) ?? programNamed(base.toLowerCase())
  const text = textOf(words)
  const common = { words, text, ...(program?.links && { links: true as const }) }
  const opaqueAt = (index: number, why = program?.why ?? ''): JudgedCommand => ({
    ...common,
    readOnly: false,
    opaque: { form: textOf(words.slice(0, index + 1)), why },
  })
  const option = onlyReads(words[0])
    ? -1
    : args.findIndex(
        (word) => word.glob !== undefined && findsOption(word.glob, at.makes ? undefined : at.folder),
      )
  if (option >= 0) return opaqueAt(option + 1, 'a file whose name begins with - would be read as an option')
  // Under a folder's name it may be any program.
  const isBare = base === name && programNamed(base) !== undefined
  if (!program) return { ...common, readOnly: false }
  if (args.length === 1 && namesIn(program.version).includes(args[0]?.value ?? '') && !at.fed)
    return { ...common, readOnly: isBare }

  const form = forms.get(base)?.(words)
  if (form) {
    if (form.opaqueAt === -1) return { ...opaqueAt(0), wholeLine: true }
    if (form.opaqueAt !== undefined) return opaqueAt(form.opaqueAt)
    return { ...common, readOnly: form.readOnly && isBare, ...(form.opens && { opens: true }) }
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
  return judgeOptions(program, base, { args, common, opaqueAt, isBare })
}

interface Options {
  readonly args: readonly PlainWord[]
  readonly common: Pick<JudgedCommand, 'words' | 'text' | 'links'>
  readonly opaqueAt: (index: number) => JudgedCommand
  readonly isBare: boolean
}

function judgeOptions(
  program: Program,
  base: string,
  { args, common, opaqueAt, isBare }: Options,
): JudgedCommand {
  const given = parted(isTar(base) ? dashed(program, args) : args, takesOf(program), {
    stops: program.stops === 1,
  })
  const { options, operands, late } = given
  const unknown = options.find(
    ({ name }) => isAmong(name, program.runs) || (program.flags !== undefined && !program.known.has(name)),
  )
  // Its letters may stand in one word, and have been taken apart.
  if (unknown) return opaqueAt(isTar(base) ? args.length : unknown.at + 1)
  if (isTar(base)) {
    // A colon is another machine, which it reaches by a program.
    const isRemote = options.some(
      ({ name, value }) => isAmong(name, program.archive) && value?.value.includes(':'),
    )
    if (isRemote) return opaqueAt(args.length)
    return { ...common, readOnly: isBare && gives(given, 't list') && !gives(given, tarChanges) }
  }
  if (base === 'date' && operands.some(({ value }) => !value.startsWith('+')))
    return { ...common, readOnly: false }
  const changes =
    gives(given, program.writes) ||
    gives(given, program.changing) ||
    (program.most !== undefined && operands.length + late > program.most)
  return { ...common, readOnly: isBare && program.kind === 'reads' && !changes }
}

const tarChanges = 'A c r u x g delete create append update extract get concatenate'

/** Not one that lies below the workspace, or anywhere else, with settings that nobody has looked at. */
function isOwnRepository(folder: string | undefined, root: string): boolean {
  const real = folder === undefined ? undefined : followed(folder)
  if (real === undefined) return false
  for (let path = real; path !== root; path = dirname(path))
    if (path === dirname(path) || isThere(`${path}/.git`) || isThere(`${path}/HEAD`)) return false
  return true
}

/** Also a link that leads nowhere, which git takes for a branch without commits, and what cannot be looked at. */
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return true
  }
}
