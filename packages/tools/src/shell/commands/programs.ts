import { programTable } from './programs-table.ts'

/** How a command accesses a path: `both` reads and writes it. */
export type AccessMode = 'none' | 'read' | 'write' | 'both'

/**
 * Which arguments of a command are paths. Options are letters and long names, separated by spaces.
 */
export interface Operands {
  /** For all operands except `first` and `last`; `none` if absent. */
  readonly operands?: AccessMode
  readonly first?: AccessMode
  /** For the last of several operands. */
  readonly last?: AccessMode
  /** Options that make `first` and `last` like all other operands. */
  readonly unless?: string
  /** Options that make the command write its operands too. */
  readonly changing?: string
  /** Options whose value is not a path, is a path to read, or a path to write. */
  readonly values?: string
  readonly reads?: string
  readonly writes?: string
  /** Options whose value is a file with more paths. */
  readonly lists?: string
  /** Options whose value is the folder that operands are relative to, or the archive. */
  readonly base?: string
  readonly archive?: string
  /** Options that save operands, which are URLs, under their own file names. */
  readonly keeps?: string
  /** Options followed by a name and a value. */
  readonly pairs?: string
}

/**
 * - `reads`: prints something and changes nothing.
 * - `changes`: may change something.
 * - `runs`: runs what its arguments, its input or a file say. Opaque.
 * - `shell`: changes the shell itself, and so the meaning of the rest of the line. The whole line is opaque.
 * - `wraps`: runs the command in its arguments.
 */
type Kind = 'reads' | 'changes' | 'runs' | 'shell' | 'wraps'

export interface Program extends Operands {
  readonly kind: Kind
  /** Why it has this kind, for the person who approves. */
  readonly why: string
  /** More harmless options. If present, an unknown option makes the command opaque. */
  readonly flags?: string
  /** All options listed for the program. */
  readonly known: ReadonlySet<string>
  /** Options that run something, or load settings that do. Long names may be abbreviated. */
  readonly runs?: string
  /** With more operands than this it makes changes. */
  readonly most?: number
  /** Arguments that, alone, only print a version. */
  readonly version?: string
  /** Its own options come before its first operand; later ones belong to another program. */
  readonly stops?: 1
  /** It can create links, which may redirect paths in the rest of the line. */
  readonly links?: 1
}

/**
 * Known programs by name. Others may change anything, but are assumed to do what their words say.
 */
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
