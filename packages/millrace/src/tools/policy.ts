import type { JsonObject } from '../protocol/index.ts'

/** One thing that a call would touch, as matched by rules. */
export type Access = RunAccess | PathAccess | FetchAccess

/**
 * One simple command: a line such as `a | b && c` has three. Or a whole line that cannot be parsed.
 */
export interface RunAccess {
  readonly kind: 'run'
  /** Its words joined by spaces, without unneeded quotes: `git commit -m 'a b'`. */
  readonly command: string
  /**
   * Other forms to match against ask and deny rules: its name without folders, or the command it
   * runs.
   */
  readonly also?: readonly string[]
  /** What it runs is not visible in its words, as with `$CMD`, `eval "$x"` or `xargs`. */
  readonly opaque?: boolean
  /**
   * For an opaque command: the leading words that a rule with a `*` must name, such as `find .
   * -exec grep`. All words if absent.
   */
  readonly form?: string
  /** Why it is opaque, as a clause. */
  readonly why?: string
  /** The same words may do something else next time: in another folder, or with other input. */
  readonly varies?: boolean
  /** The line it is part of, if only the whole line can be allowed permanently. */
  readonly line?: string
  /** It is known to change nothing. */
  readonly readOnly?: boolean
  /** It runs in a sandbox that it cannot leave, and that is read-only where the agent is. */
  readonly contained?: boolean
}

export interface PathAccess {
  readonly kind: 'read' | 'write'
  /**
   * With `/` and links resolved: relative inside the workspace (`src/a.ts`, `.` for the workspace),
   * absolute elsewhere.
   */
  readonly path: string
  /** The actual path is only known when the call runs; `path` is as written. */
  readonly opaque?: boolean
  /**
   * It belongs to a command that is checked itself: ask and deny rules apply to it, but it needs no
   * allow rule.
   */
  readonly implied?: boolean
  /** As for `RunAccess`. */
  readonly contained?: boolean
}

export interface FetchAccess {
  readonly kind: 'fetch'
  /** In lower case, without a port: `docs.example.com`, `10.0.0.1`, `[::1]`. */
  readonly host: string
}

/** A tool call as passed to a policy. */
export interface PolicyRequest {
  readonly name: string
  readonly input: JsonObject
  /** Undefined if the tool does not declare what it touches. */
  readonly access: readonly Access[] | undefined
  /** The tool's `fingerprint`, if it has one. */
  readonly fingerprint?: string | undefined
}

/** A policy's decision on a tool call. */
export interface PolicyDecision {
  readonly decision: 'allow' | 'ask' | 'deny'
  /** The rule that decided, as people wrote it: `deny run(rm *)`. */
  readonly rule: string
  /**
   * The reason, for the person who is asked or the model whose call is denied: a sentence without
   * its final period.
   */
  readonly reason: string
  /**
   * With `ask`: the rules that would allow the same call in the future; absent if it cannot be
   * remembered.
   */
  readonly rules?: readonly string[]
}

/** Stores permanently allowed rules, beyond the thread in which they were allowed. */
export interface PermissionMemory {
  /**
   * The path, if it is a file. Tools must not write to it: they could allow themselves anything.
   */
  readonly file?: string | undefined
  rules(): readonly string[] | Promise<readonly string[]>
  /** Resolves when the rules are stored. Existing rules are ignored. */
  add(rules: readonly string[]): Promise<void>
}

/**
 * What an agent may do without approval. Created by `permission()`. `decide` has no side effects
 * and may be called at any time.
 */
export interface Policy {
  /** `granted` are the rules that people have allowed in this thread. */
  decide(call: PolicyRequest, granted: readonly string[]): PolicyDecision | Promise<PolicyDecision>
  /**
   * What is wrong with a rule to remember, as a sentence without its final period; undefined if it
   * is valid.
   */
  ruleProblem?(rule: unknown): string | undefined
  readonly memory: PermissionMemory | undefined
  /** Its rules in the order in which they are tried, as in `PolicyDecision.rule`. */
  readonly rules?: readonly string[]
  /** Nothing may be changed. Tools that can enforce this themselves do. */
  readonly readOnly?: boolean
}
