import type { Access } from 'millrace'

/** A word that is always the same, except for a glob, which the shell expands. */
export interface PlainWord {
  /** Without quotes: the argument that the program gets, or the glob as written. */
  readonly value: string
  /** The glob pattern, with `\\` before each literal character. */
  readonly glob?: string
  /** It starts with `~` for the home folder. */
  readonly home?: true
}

export interface PlainRedirect {
  readonly descriptor: number | undefined
  readonly operator: string
  /** For `<<`, the text itself. */
  readonly target: PlainWord
}

/** A program with its arguments. */
export interface PlainCommand {
  readonly assignments: readonly (readonly [name: string, value: string])[]
  readonly words: readonly PlainWord[]
  readonly redirects: readonly PlainRedirect[]
}

/** `operators[n]` is between the commands n and n + 1: `&&`, `||`, `|` or `;`. */
export interface PlainLine {
  readonly commands: readonly PlainCommand[]
  readonly operators: readonly string[]
}

/** An access as written; `glob` if the shell still has to expand it. */
export type WrittenAccess = Access & { readonly glob?: { readonly folder: string; readonly pattern: string } }
