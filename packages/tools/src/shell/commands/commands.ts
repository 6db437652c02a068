import { resolve } from 'node:path'
import type { RunAccess } from 'millrace/internal'
import { followLinks } from '../links.ts'
import { isWithin } from '../sandbox/paths.ts'
import type { CheckedCommand } from './checked-command.ts'
import { checkCommand } from './checked-command.ts'
import { readGit } from './git.ts'
import type { ShellFolders } from './paths.ts'
import { isSocket, makesOption, operandAccess, redirectAccess } from './paths.ts'
import type { PlainCommand, PlainLine, PlainWord, WrittenAccess } from './plain-line.ts'
import { programNamed } from './programs.ts'
import { readPlain } from './read-plain.ts'
import { isName } from './scan.ts'
import { textOf } from './text.ts'
import { passedCommands, visibleCommands } from './visible-commands.ts'

/** What a shell line would access. A line that is not plain is one opaque access. Never throws. */
export function commandAccess(line: string, folders: ShellFolders): WrittenAccess[] {
  const plain = readPlain(line)
  const accesses = plain && plainAccess(plain, folders, line.trim())
  return accesses ?? [...opaqueLine(line, folders)]
}

/** The same for a command given as argv, which runs without a shell. */
export function argvAccess(
  argv: readonly string[],
  folders: ShellFolders,
  variables: Readonly<Record<string, string>> = {},
): WrittenAccess[] {
  const words = argv.map((value) => ({ value }))
  const assignments = Object.entries(variables)
  // The operating system would cut an argument at a NUL.
  const isPlain = isName(argv[0] ?? '') && !argv.join('').includes('\0')
  const accesses = isPlain
    ? plainAccess({ commands: [{ assignments, words, redirects: [] }], operators: [] }, folders, undefined)
    : undefined
  return accesses ?? [...opaqueLine(textOf(words), folders)]
}

/** The line as a whole, plus the commands and files visible in it, for deny and ask rules. */
function opaqueLine(line: string, folders: ShellFolders): WrittenAccess[] {
  const command = line.trim() || line
  const seen = visibleCommands(line)
  const also = [...new Set(seen.flatMap(namesOf))].filter((text) => text !== command)
  return [
    {
      kind: 'run',
      command,
      ...(also.length > 0 && { also }),
      opaque: true,
      ...(folders.cwd !== folders.root && { varies: true }),
    },
    ...seen.flatMap((words) =>
      operandAccess(
        words.filter(({ value }) => !/[$`]/.test(value)),
        { ...folders, folder: folders.cwd },
      ),
    ),
  ]
}

/** Undefined if the line has to be checked as a whole. */
function plainAccess(
  { commands, operators }: PlainLine,
  folders: ShellFolders,
  line: string | undefined,
): WrittenAccess[] | undefined {
  const folder = folderOf(commands, operators, folders)
  const check = (mayCreateFiles: boolean) =>
    commands.map((command, index) => {
      const hasInput =
        operators[index - 1] === '|' || command.redirects.some(({ operator }) => /^<(?!&)/.test(operator))
      const at = { root: folders.root, folder, hasInput, mayCreateFiles }
      return { command, hasInput, ...checkCommand(command.words, command.assignments, at) }
    })
  const first = check(false)
  const mayCreateFiles = first.some(
    ({ readOnly, command }) => (first.length > 1 && !readOnly) || command.redirects.some(makesOption),
  )
  const checked = mayCreateFiles ? check(true) : first
  if (checked.some(({ wholeLine }) => wholeLine)) return undefined
  if (commands.some(({ redirects }) => redirects.some(isSocket))) return undefined
  const accesses = checked.flatMap((one, index) => {
    const { command, hasInput, readOnly, opensOtherFiles, text, words } = one
    const mayBeLinked = checked.some((other) => other !== one && other.links && !other.readOnly)
    const at = { ...folders, folder, mayBeLinked }
    const varies = !readOnly && (hasInput || folder !== folders.root)
    const whole = folders.cwd === folders.root ? line : undefined
    const [name] = words
    const stays = folder !== undefined && isWithin(followLinks(folder) ?? '', folders.root)
    const isInert =
      checked.length > 1 &&
      command.assignments.length === 0 &&
      (name?.value === 'set' || (name?.value === 'cd' && stays))
    return [
      // A command that only prepares the others needs no rule.
      ...(isInert ? [] : [runAccess(one, { varies, line: whole })]),
      // Redirections of the `cd` itself are opened before it takes effect.
      ...redirectAccess(command.redirects, { ...at, folder: folder && index === 0 ? folders.cwd : folder }),
      ...operandAccess(words, at, { readOnly }),
      ...(one.opaque ? passedCommands(words).flatMap((inner) => operandAccess(inner, at)) : []),
      ...(opensOtherFiles ? [{ kind: 'read', path: text, opaque: true, implied: true } as const] : []),
    ]
  })
  return [...new Map(accesses.map((access) => [JSON.stringify(access), access])).values()]
}

function runAccess(
  { words, text, readOnly, opaque }: CheckedCommand,
  { varies, line }: { varies: boolean; line: string | undefined },
): RunAccess {
  const also = [...namesOf(words), ...(opaque ? passedCommands(words).flatMap(namesOf) : [])]
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

/** Other spellings of the command, for ask and deny rules. */
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

/** The working directory: after `cd folder && …` that folder, after any other `cd` unknown. */
function folderOf(
  commands: readonly PlainCommand[],
  operators: readonly string[],
  { cwd, home }: ShellFolders,
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
