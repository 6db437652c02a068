import type { Access } from 'millrace'

/** A word that is the same whenever it runs, but for a glob, which the shell looks up on the disk. */
export interface PlainWord {
  /** Without its quotes: what the program is given, or the glob as it is written. */
  readonly value: string
  /** What the shell looks for, with a `\\` before each character that means itself. */
  readonly glob?: string
  /** It begins with the `~` of the home folder. */
  readonly home?: true
}

export interface PlainRedirect {
  readonly descriptor: number | undefined
  readonly operator: string
  /** Of `<<` the text itself. */
  readonly target: PlainWord
}

/** A program with its words. */
export interface PlainCommand {
  readonly assignments: readonly (readonly [name: string, value: string])[]
  readonly words: readonly PlainWord[]
  readonly redirects: readonly PlainRedirect[]
}

/** `operators[n]` stands between the commands n and n + 1: `&&`, `||`, `|` or `;`. */
export interface PlainLine {
  readonly commands: readonly PlainCommand[]
  readonly operators: readonly string[]
}

/** An access, and for one that a glob names what the shell will look for. */
export type SeenAccess = Access & { readonly glob?: { readonly folder: string; readonly pattern: string } }
