import { resolve } from 'node:path'
import type { RunAccess } from 'millrace/internal'
import { followed } from '../links.ts'
import { isWithin } from '../sandbox/places.ts'
import { readGit } from './git.ts'
import type { JudgedCommand } from './judged-command.ts'
import { judgeCommand } from './judged-command.ts'
import type { Place } from './paths.ts'
import { isSocket, makesOption, operandAccess, redirectAccess } from './paths.ts'
import type { PlainCommand, PlainLine, PlainWord, SeenAccess } from './plain-line.ts'
import { programNamed } from './programs.ts'
import { readPlain } from './read-plain.ts'
import { isName } from './scan.ts'
import { handedOn, seenIn } from './seen.ts'
import { textOf } from './text.ts'

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

/** The line as a whole, and for deny and ask rules the commands and files that show in it. */
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
  const accesses = judged.flatMap((one, index) => {
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
      // Those of the `cd` itself are opened before it moves.
      ...redirectAccess(command.redirects, { ...at, folder: folder && index === 0 ? place.cwd : folder }),
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

/** After `cd folder && …` it is that folder; after any other `cd` it is not known. */
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
