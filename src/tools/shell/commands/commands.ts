import { isAbsolute, relative, resolve } from 'node:path'
import type { PathAccess, RunAccess } from '../../policy.ts'
import { followed } from '../links.ts'
import { isWithin } from '../sandbox/places.ts'
import { readGit } from './git.ts'
import type { JudgedCommand } from './judged-command.ts'
import { judgeCommand } from './judged-command.ts'
import { operandsOf } from './operands.ts'
import type { PlainCommand, PlainLine, PlainRedirect, PlainWord, SeenAccess } from './plain-line.ts'
import { programNamed } from './programs.ts'
import { readPlain } from './read-plain.ts'
import { isName } from './scan.ts'
import { handedOn, seenIn } from './seen.ts'
import { textOf } from './text.ts'

/** Where a line runs, as absolute real paths. */
export interface Place {
  readonly root: string
  readonly cwd: string
  /** What `~` stands for. */
  readonly home: string
}

/** More than anybody reads; each is looked up on the disk. */
const mostOperands = 200

/** What a line of shell would touch. A line that is not plain is one access, for itself. Never throws. */
export function commandAccess(line: string, place: Place): SeenAccess[] {
  const plain = readPlain(line)
  const accesses = plain && plainAccess(plain, place, line.trim())
  return accesses ?? [...opaqueLine(line, place)]
}

/** The same for a command that comes as words and runs without a shell. */
export function argvAccess(
  argv: readonly string[],
  place: Place,
  variables: Readonly<Record<string, string>> = {},
): SeenAccess[] {
  const words = argv.map((value) => ({ value }))
  const assignments = Object.entries(variables)
  // A NUL ends the text for the system that starts the program.
  const isPlain = isName(argv[0] ?? '') && !argv.join('').includes('\0')
  const accesses = isPlain
    ? plainAccess({ commands: [{ assignments, words, redirects: [] }], operators: [] }, place, undefined)
    : undefined
  return accesses ?? [...opaqueLine(textOf(words), place)]
}

/** Of what shows in it, only rules that deny or ask are to speak. */
function opaqueLine(line: string, place: Place): SeenAccess[] {
  const command = line.trim() || line
  const seen = seenIn(line)
  const also = [...new Set(seen.flatMap(namesOf))].filter((text) => text !== command)
  return [
    {
      kind: 'run',
      command,
      ...(also.length > 0 && { also }),
      opaque: true,
      ...(place.cwd !== place.root && { varies: true }),
    },
    ...seen.flatMap((words) =>
      operandAccess(
        words.filter(({ value }) => !/[$`]/.test(value)),
        { ...place, folder: place.cwd },
      ),
    ),
  ]
}

/** Undefined if the line is to be judged as a whole. */
function plainAccess(
  { commands, operators }: PlainLine,
  place: Place,
  line: string | undefined,
): SeenAccess[] | undefined {
  const folder = folderOf(commands, operators, place)
  const judge = (makes: boolean) =>
    commands.map((command, index) => {
      const fed =
        operators[index - 1] === '|' || command.redirects.some(({ operator }) => /^<(?!&)/.test(operator))
      const at = { root: place.root, folder, fed, makes }
      return { command, fed, ...judgeCommand(command.words, command.assignments, at) }
    })
  const first = judge(false)
  const makes = first.some(
    ({ readOnly, command }) => (first.length > 1 && !readOnly) || command.redirects.some(makesOption),
  )
  const judged = makes ? judge(true) : first
  if (judged.some(({ wholeLine }) => wholeLine)) return undefined
  if (commands.some(({ redirects }) => redirects.some(isSocket))) return undefined
  const accesses = judged.flatMap((one) => {
    const { command, fed, readOnly, opens, text, words } = one
    const isLinked = judged.some((other) => other !== one && other.links && !other.readOnly)
    const at = { ...place, folder, isLinked }
    const varies = !readOnly && (fed || folder !== place.root)
    const whole = place.cwd === place.root ? line : undefined
    const [name] = words
    const stays = folder !== undefined && isWithin(followed(folder) ?? '', place.root)
    const isInert =
      judged.length > 1 &&
      command.assignments.length === 0 &&
      (name?.value === 'set' || (name?.value === 'cd' && stays))
    return [
      // What only prepares the others needs no rule of its own.
      ...(isInert ? [] : [runAccess(one, { varies, line: whole })]),
      ...redirectAccess(command.redirects, at),
      ...operandAccess(words, at, { readOnly }),
      ...(one.opaque ? handedOn(words).flatMap((inner) => operandAccess(inner, at)) : []),
      ...(opens ? [{ kind: 'read', path: text, opaque: true, implied: true } as const] : []),
    ]
  })
  return [...new Map(accesses.map((access) => [JSON.stringify(access), access])).values()]
}

function runAccess(
  { words, text, readOnly, opaque }: JudgedCommand,
  { varies, line }: { varies: boolean; line: string | undefined },
): RunAccess {
  const also = [...namesOf(words), ...(opaque ? handedOn(words).flatMap(namesOf) : [])]
  const others = [...new Set(also)].filter((name) => name !== text)
  return {
    kind: 'run',
    command: text,
    ...(others.length > 0 && { also: others }),
    ...(opaque && { opaque: true, ...(opaque.form !== undefined && { form: opaque.form }), why: opaque.why }),
    ...(varies && { varies }),
    ...(line !== undefined && line !== text && (varies || opaque) && { line }),
    ...(readOnly && { readOnly }),
  }
}

/** The command by other names, for rules that ask or deny. */
function namesOf(words: readonly PlainWord[]): string[] {
  const [name, ...args] = words
  if (!name) return []
  const base = name.value.slice(name.value.lastIndexOf('/') + 1)
  const named = (value: string, rest: readonly PlainWord[]) => textOf([{ value }, ...rest])
  const at = base === 'git' ? readGit(args).at : undefined
  return [
    named(base, args),
    ...(base.toLowerCase() === base ? [] : [named(base.toLowerCase(), args)]),
    ...(at ? [named(base, args.slice(at))] : []),
    ...(base === 'find' && args.some(({ value }) => value === '-delete') ? [named('rm', args)] : []),
  ]
}

/** After `cd folder && …` it is that folder; after any other `cd` nobody knows. */
function folderOf(
  commands: readonly PlainCommand[],
  operators: readonly string[],
  { cwd, home }: Place,
): string | undefined {
  const moving = commands.filter(({ words: [name, ...more] }) => {
    const wraps = programNamed(name?.value ?? '')?.kind === 'wraps'
    return name?.value === 'cd' || (wraps && more.some(({ value }) => value === 'cd'))
  })
  if (moving.length === 0) return cwd
  const [first] = commands
  const [, folder, ...more] = first?.words ?? []
  const isCertain =
    moving.length === 1 &&
    first?.words[0]?.value === 'cd' &&
    first.assignments.length === 0 &&
    operators[0] === '&&' &&
    operators.every((operator) => operator === '&&' || operator === '|')
  if (!isCertain || !folder || more.length > 0 || folder.glob !== undefined || /^-|^$/.test(folder.value))
    return undefined
  return resolve(cwd, folder.home ? home + folder.value.slice(1) : folder.value)
}

interface Where extends Place {
  readonly folder: string | undefined
  /** Another command of the line may put a link in the way by the time it is opened. */
  readonly isLinked?: boolean
}

function isSocket({ target }: PlainRedirect): boolean {
  return /^\/+dev\/+(?:tcp|udp)\//.test(target.value)
}

/** A file that a glob would find, and a program take for an option. */
function makesOption({ operator, target }: PlainRedirect): boolean {
  return operator.includes('>') && /(?:^|\/)-[^/]*$/.test(target.value)
}

function redirectAccess(redirects: readonly PlainRedirect[], where: Where): SeenAccess[] {
  // What is read as a stream can be a file of the same command, and opened anew is written.
  const isFed = redirects.some(({ operator }) => operator.startsWith('<'))
  const written = isFed ? /^\/dev\/(?:null|tty)$/ : /^\/dev\/(?:null|tty|stdout|stderr)$/
  return redirects.flatMap(({ operator, target }) => {
    const isRead = operator === '<'
    if (/&$|^<<$/.test(operator) || (isRead ? allStreams : written).test(target.value)) return []
    return [pathAccess(isRead ? 'read' : 'write', target, where)]
  })
}

function operandAccess(words: readonly PlainWord[], where: Where, { readOnly = false } = {}): SeenAccess[] {
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

const allStreams = /^\/dev\/(?:null|stdin|stdout|stderr|tty|zero|u?random|fd\/\d+)$/

function pathAccess(kind: 'read' | 'write', word: PlainWord, where: Where): PathAccess & SeenAccess {
  const { value, glob, home } = word
  const base = value.startsWith('/') ? '/' : where.folder
  if (glob !== undefined) {
    const isKnown =
      base !== undefined && !where.isLinked && !(where.folder !== where.cwd && value.includes('..'))
    return { kind, path: value, opaque: true, ...(isKnown && { glob: { folder: base, pattern: glob } }) }
  }
  const path = where.isLinked ? undefined : resolved(home ? where.home + value.slice(1) : value, where)
  return path === undefined ? { kind, path: value, opaque: true } : { kind, path }
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
