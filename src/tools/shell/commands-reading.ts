import type { Access } from '../policy.ts'
import type { Variables } from './commands-variables.ts'

/** An access, and for one that a glob names what the shell will look for. */
export type SeenAccess = Access & { readonly glob?: Glob }

export interface Glob {
  /** Where it is looked for; absolute. */
  readonly folder: string
  /** With `*`, `?` and `{a,b}`, and a `\\` before what means itself. */
  readonly pattern: string
}

/** One line that is being read, and what was found in it so far. */
export interface Reading {
  readonly root: string
  readonly cwd: string
  readonly variables: Variables
  /** Which shell reads this line. */
  readonly shell: 'bash' | 'sh'
  /** Its paths are not those of here. */
  readonly elsewhere: boolean
  /** It is given something to read that is not in its words: of a pipe, a file, a text. */
  readonly fed?: boolean
  /** Called when the whole line was read: what stands later may change what an earlier part means. */
  found(access: () => SeenAccess | undefined): void
  /** A command that changes the folder: no relative path is certain any more. */
  moves(): void
  /** Undefined if that is not known. */
  folder(): string | undefined
  /** A command that changes what globs find, such as names that begin with a dot. */
  widens(): void
  plainGlobs(): boolean
  /** A line in this one. */
  line(text: string, options: { readonly shell?: 'bash' | 'sh'; readonly elsewhere: boolean }): void
}

export function opaqueRun(command: string): Access {
  return { kind: 'run', command, opaque: true }
}
