import type { Access } from '../policy.ts'
import { builtin } from './commands-builtins.ts'
import { carriesHidden, gitSubcommand } from './commands-carriers.ts'
import { readOperands } from './commands-operands.ts'
import { hasSubcommands, isReadOnly } from './commands-read-only.ts'
import type { Reading } from './commands-reading.ts'
import { opaqueRun } from './commands-reading.ts'
import { readPath } from './commands-redirects.ts'
import { shellStarted } from './commands-shells.ts'
import { leavesAlone, steersOthers } from './commands-variables.ts'
import type { ShellWord } from './commands-words.ts'
import { literalWord, textOf } from './commands-words.ts'
import type { HandedOn } from './commands-wrappers.ts'
import { wrappers } from './commands-wrappers.ts'

/** `NAME=value` in front of a command. */
export interface Assigned {
  readonly name: string
  readonly text: string
  readonly varies?: boolean | undefined
}

const nothing: HandedOn = { itself: 'shown' }

/** Notes one simple command, and those it hands on to. */
export function readCommand(
  words: readonly ShellWord[],
  assigned: readonly Assigned[],
  reading: Reading,
  depth = 0,
): void {
  const [name, ...args] = words
  const command = [...assigned.map(({ text }) => text), textOf(words)].join(' ')
  if (!name?.value || !isPlainName(name.value) || depth > 16) return reading.found(() => opaqueRun(command))

  const base = name.value.slice(name.value.lastIndexOf('/') + 1)
  const own = builtin(base, words)
  const handed = own ?? shellStarted(base, words) ?? wrappers.get(base)?.(words) ?? nothing
  for (const variable of own?.sets ?? []) reading.variables.wrote(variable)
  if (/^(?:cd|pushd|popd)$/.test(base)) reading.moves()
  if (base === 'shopt' && !args.every(leavesGlobs)) reading.widens()
  const isSource = base === 'source' || base === '.'
  if (isSource && args[0]) readPath('read', args[0], reading)

  const arithmetic = own?.arithmetic ?? []
  const isOpaque =
    handed.itself === 'opaque' ||
    carriesHidden(base, words) ||
    (!own && hidesSubcommand(base, args)) ||
    (isSource && args[0]?.value === undefined) ||
    (handed.lines !== undefined && assigned.some((variable) => steersOthers(variable.name)))
  const also = otherNames(base, args).filter((text) => text !== command)
  const changesNothing =
    base === name.value &&
    assigned.every(
      (variable) => leavesAlone(variable.name) || (base === 'read' && variable.name === 'IFS'),
    ) &&
    (own?.readOnly || isReadOnly(words, reading))
  // Under a folder's name it may be any program.
  if (handed.itself !== 'hidden' || base !== name.value || isOpaque)
    reading.found((): Access => {
      const opaque = isOpaque || arithmetic.some((text) => reading.variables.mayRun(text))
      const varies =
        [...words, ...assigned].some((word) => word.varies) ||
        (!changesNothing && (reading.fed || reading.folder() !== reading.root))
      return {
        kind: 'run',
        command,
        ...(also.length > 0 && { also }),
        ...(varies && { varies }),
        ...(opaque ? { opaque } : changesNothing && { readOnly: true }),
      }
    })

  readOperands(base, args, reading, { changesNothing: changesNothing && !isOpaque })

  const elsewhere = reading.elsewhere || handed.itself !== 'hidden'
  for (const line of handed.lines ?? [])
    reading.line(line.text, { ...line, elsewhere: elsewhere || line.elsewhere })
  for (const inner of handed.commands ?? []) {
    const more = (inner.assignments ?? []).map(asAssigned)
    for (const { name: variable } of more) reading.variables.wrote(variable)
    readCommand(inner.words, [...assigned, ...more], { ...reading, elsewhere }, depth + 1)
  }
}

/** Not dotglob and its like, by which `*` finds more. */
function leavesGlobs({ value = '' }: ShellWord): boolean {
  return /^(?:-[squ]+|nullglob|failglob|lastpipe|inherit_errexit)$/.test(value)
}

/** Nothing in it that the shell would expand, even if it was quoted: such names are not worth a guess. */
function isPlainName(name: string): boolean {
  return name === '[' || /^[^\s{}*?[\]~$`!()<>|&;'"\\=]+$/u.test(name)
}

function asAssigned({ value, text, start, varies }: ShellWord): Assigned {
  const given = value ?? start
  return { name: given.slice(0, given.indexOf('=')), text, varies }
}

/** `git $X` may be `git push`. Behind a known subcommand a rule has something to hold on to. */
function hidesSubcommand(base: string, args: readonly ShellWord[]): boolean {
  if (!hasSubcommands(base) || wrappers.has(base)) return false
  const first = args.find(({ value }) => !value?.startsWith('-'))
  if (!first || first.value !== undefined) return false
  // A path is none.
  return first.splits || !(first.start.includes('/') || first.home?.startsWith('/'))
}

/** The command by other names, for rules that ask or deny. */
function otherNames(base: string, args: readonly ShellWord[]): string[] {
  const name = literalWord(base)
  const names = [textOf([name, ...args])]
  // Some file systems do not tell `RM` from `rm`.
  const lower = base.toLowerCase()
  if (lower !== base) names.push(textOf([literalWord(lower), ...args]))
  const at = base === 'git' ? gitSubcommand(args) : 0
  if (at) names.push(textOf([name, ...args.slice(at)]))
  if (base === 'find' && args.some(({ value }) => value === '-delete'))
    names.push(textOf([literalWord('rm'), ...args]))
  return [...new Set(names)]
}
