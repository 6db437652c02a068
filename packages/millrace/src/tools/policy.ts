import type { JsonObject } from '../protocol/index.ts'

/** One thing of the world that a call would touch, as rules speak of it. */
export type Access = RunAccess | PathAccess | FetchAccess

/** One simple command: of a line such as `a | b && c` each is one. Or a line that cannot be read, as a whole. */
export interface RunAccess {
  readonly kind: 'run'
  /** Its words with a space between, each without the quotes it does not need: `git commit -m 'a b'`. */
  readonly command: string
  /** The same in other words, for rules that ask or deny: its name without folders, or what it hands on to. */
  readonly also?: readonly string[]
  /** What it runs does not show in its words, as with `$CMD`, `eval "$x"` or `xargs`. */
  readonly opaque?: boolean
  /** Of what is opaque: the words at its beginning that a rule with a `*` has to name, such as `find . -exec grep`. All of them if absent. */
  readonly form?: string
  /** Why it is opaque, as the rest of a sentence. */
  readonly why?: string
  /** The same words may do something else another time: in another folder, fed with other text. */
  readonly varies?: boolean
  /** The line it stands in, if only that as a whole can be allowed for good. */
  readonly line?: string
  /** It is known to change nothing. */
  readonly readOnly?: boolean
  /** It runs in a sandbox that it cannot leave, and that is read-only where the agent is. */
  readonly contained?: boolean
}

export interface PathAccess {
  readonly kind: 'read' | 'write'
  /** With `/`, no link in it: below the workspace relative to that (`src/a.ts`, `.` for itself), elsewhere absolute. */
  readonly path: string
  /** Which path it comes to is known only when it runs; `path` is then what was written. */
  readonly opaque?: boolean
  /** It comes with a command that is judged itself: rules that deny or ask speak of it, and it needs none that allows it. */
  readonly implied?: boolean
  /** As with a command. */
  readonly contained?: boolean
}

export interface FetchAccess {
  readonly kind: 'fetch'
  /** In lower case, without a port: `docs.example.com`, `10.0.0.1`, `[::1]`. */
  readonly host: string
}

/** A call as a policy sees it. */
export interface JudgedCall {
  readonly name: string
  readonly input: JsonObject
  /** Undefined if the tool does not say what it touches. */
  readonly access: readonly Access[] | undefined
  /** The tool's `fingerprint`, if it has one. */
  readonly fingerprint?: string | undefined
}

/** What a policy says of a call. */
export interface Ruling {
  readonly decision: 'allow' | 'ask' | 'deny'
  /** The rule that decided, as people wrote it: `deny run(rm *)`. */
  readonly rule: string
  /** What it is about, for the person who is asked, or the model that is refused: a sentence without its last stop. */
  readonly reason: string
  /** With `ask`: the rules that would let the same pass from now on; none if nothing may be remembered. */
  readonly rules?: readonly string[]
}

/** Keeps what is allowed for good, past the thread in which it was said. */
export interface PermissionMemory {
  /** Where it is, if that is a file: whoever could write it could allow itself anything. */
  readonly file?: string | undefined
  rules(): readonly string[] | Promise<readonly string[]>
  /** Resolves when they are kept. A rule that is there already changes nothing. */
  add(rules: readonly string[]): Promise<void>
}

/** What an agent may do without asking. Made by `permission()`; `judge` never changes anything and may be asked at any time. */
export interface Policy {
  /** `granted` are the rules that people have allowed in this thread. */
  judge(call: JudgedCall, granted: readonly string[]): Ruling | Promise<Ruling>
  /** What is wrong with a rule that a person wants to be remembered, as a sentence without its last stop; undefined if nothing is. */
  ruleProblem?(rule: unknown): string | undefined
  readonly memory: PermissionMemory | undefined
  /** Nothing may be changed: a tool that can see to that itself does. */
  readonly readOnly?: boolean
}
