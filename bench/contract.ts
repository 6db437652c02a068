import type * as z from 'zod'

/** The three wire formats that the server replays. */
export type Wire = 'chat' | 'responses' | 'messages'

/** A tool as the harness has it. A client makes its own form of it, as its documentation says. */
export interface BenchTool {
  readonly name: string
  readonly description: string
  /** For clients that take a schema of zod. */
  readonly schema: z.ZodObject
  /** The same, for those that take JSON Schema. */
  readonly jsonSchema: Readonly<Record<string, unknown>>
  /** Counted and checked by the harness. */
  readonly run: (input: Readonly<Record<string, unknown>>) => string | Promise<string>
}

/** What a client is given before anything is measured. */
export interface Setting {
  readonly wire: Wire
  /** Ends in `/v1`: `http://127.0.0.1:3000/text/v1`. No key is asked for; any will do. */
  readonly baseURL: string
  /** Which model to name in requests. The server takes any. */
  readonly model: string
  /** None for works without tools. */
  readonly tools: readonly BenchTool[]
  /** The most rounds that a loop of this work takes; clients with a limit of their own set it to this. */
  readonly maxRounds: number
}

/** Told by a client while it reads; the harness holds it against what the server sent. */
export interface Listener {
  /** Each piece of the answer's text, once, in order, the moment the client's user would see it. */
  text(piece: string): void
  /** In `partials` only: each time the arguments were seen while they arrive. `chars` is the length of the string in them so far. */
  partial(chars: number): void
}

/** One client, ready to be used: whatever can be made once and used for many requests has been made. */
export interface Session {
  /** Sends the prompt without tools and reads every event of the answer. */
  answer(prompt: string, listener: Listener): Promise<void>
  /** Sends the prompt with the tools, runs what the model calls, and goes on until the final answer. */
  loop?(prompt: string, listener: Listener): Promise<void>
  /** The same, while somebody reads the arguments of the call at every delta, in the way the package offers. */
  partials?(prompt: string, listener: Listener): Promise<void>
}

/** A file in `clients/` has this as its default export. */
export interface Client {
  /** As it stands in the table. */
  readonly label: string
  /** Whose versions are printed; the first one names the client. Empty for a floor. */
  readonly packages: readonly string[]
  readonly wires: readonly Wire[]
  /** What somebody imports who uses it with one provider: the source of a module, for import time and size. */
  readonly imports?: string
  /** The only works it is meant for, if not for all. */
  readonly only?: readonly string[]
  /** Why a work is left out, where the package cannot do it. */
  readonly without?: Readonly<Record<string, string>>
  open(setting: Setting): Session | Promise<Session>
}
