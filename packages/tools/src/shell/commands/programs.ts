import { programTable } from './programs-table.ts'

/** What a command does with a path: `both` is a read and a write. */
export type AccessMode = 'none' | 'read' | 'write' | 'both'

/** Which words of a command are paths. Options are letters and long names, with spaces between. */
export interface Operands {
  /** Of every operand but those that have a word of their own here; `none` if absent. */
  readonly operands?: AccessMode
  readonly first?: AccessMode
  /** Of the last one of several. */
  readonly last?: AccessMode
  /** Options with which first and last are as all others. */
  readonly unless?: string
  /** Options with which the operands are written, too. */
  readonly changing?: string
  /** Options whose value is no path, is read, or is written. */
  readonly values?: string
  readonly reads?: string
  readonly writes?: string
  /** Options whose value is a file that names more. */
  readonly lists?: string
  /** Options whose value is the folder that operands are meant from, or the archive that they are packed into. */
  readonly base?: string
  readonly archive?: string
  /** Options with which the operands, which are addresses, are kept under their own names here. */
  readonly keeps?: string
  /** Options with a name and a value behind. */
  readonly pairs?: string
}

/**
 * - `reads`: prints what it finds, and changes nothing.
 * - `changes`: may change something.
 * - `runs`: runs what its words, its input or a file name. Opaque.
 * - `shell`: changes the shell itself, and with it what the rest of the line means. The whole line is opaque.
 * - `wraps`: is the command behind its own words.
 */
type Kind = 'reads' | 'changes' | 'runs' | 'shell' | 'wraps'

export interface Program extends Operands {
  readonly kind: Kind
  /** Why it is judged so, for the person who is asked. */
  readonly why: string
  /** The other options that are harmless. Where they are listed, an option that is not known makes the command opaque. */
  readonly flags?: string
  /** All options that are listed for it. */
  readonly known: ReadonlySet<string>
  /** Options by which it runs something, or takes settings that do. Long names may be cut short. */
  readonly runs?: string
  /** With more operands it changes something. */
  readonly most?: number
  /** A word that alone only prints a version. */
  readonly version?: string
  /** Its own options stand before its first operand; those behind are not its own. */
  readonly stops?: 1
  /** It can make links: what the rest of the line opens may lie elsewhere then. */
  readonly links?: 1
}

/** Every program that is known, by its name. What is not here may change anything, but is what its words say. */
const programs: ReadonlyMap<string, Program> = new Map(
  programTable
    .trim()
    .split('\n')
    .flatMap((row) => {
      const [names = '', kind, why, how = ''] = row.trim().split(' | ')
      const entries = how
        .split('; ')
        .filter(Boolean)
        .map((entry) => {
          const [key, value] = entry.split(/: ?/)
          return [key, value === undefined || key === 'most' ? Number(value ?? 1) : value]
        })
      const lists = entries.flatMap(([, value]) => (typeof value === 'string' ? value.split(' ') : []))
      const program = { kind, why, known: new Set(lists), ...Object.fromEntries(entries) } as Program
      return names.split(' ').map((name) => [name, program] as const)
    }),
)

/** `python3.12` is `python`; but `cat2` may be anything. */
export function programNamed(name: string): Program | undefined {
  const versioned = programs.get(name.replace(/-?[\d.]+$/, ''))
  return programs.get(name) ?? (versioned?.kind === 'runs' ? versioned : undefined)
}

export function namesIn(names: string | undefined): readonly string[] {
  return names?.split(' ') ?? []
}
