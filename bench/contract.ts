import type * as z from 'zod'

/** The three wire formats that the server replays. */
export type Wire = 'chat' | 'responses' | 'messages'

/** A tool of the harness. Each client converts it to its own form, as its documentation says. */
export interface BenchTool {
  readonly name: string
  readonly description: string
  /** For clients that take a zod schema. */
  readonly schema: z.ZodObject
  /** The same, for clients that take JSON Schema. */
  readonly jsonSchema: Readonly<Record<string, unknown>>
  /** Counted and checked by the harness. */
  readonly run: (input: Readonly<Record<string, unknown>>) => string | Promise<string>
}

/** What a client gets before anything is measured. */
export interface Setting {
  readonly wire: Wire
  /** Ends in `/v1`: `http://127.0.0.1:3000/text/v1`. The server accepts any API key. */
  readonly baseURL: string
  /** The model to name in requests. The server accepts any. */
  readonly model: string
  /** Empty for workloads without tools. */
  readonly tools: readonly BenchTool[]
  /**
   * The most rounds that a loop of this workload takes. Clients that have a limit set it to this.
   */
  readonly maxRounds: number
}

/** Called by a client while it reads. The harness compares it with what the server sent. */
export interface Listener {
  /** Each piece of the answer's text, once and in order, when a user of the client would see it. */
  text(piece: string): void
  /**
   * Only in `partials`: partial arguments were read; `chars` is the length of their string so far.
   */
  partial(chars: number): void
}

/** One client, ready for requests: everything that can be created once has been. */
export interface Session {
  /** Sends the prompt without tools and reads every event of the answer. */
  answer(prompt: string, listener: Listener): Promise<void>
  /** Sends the prompt with the tools and runs tool calls until the final answer. */
  loop?(prompt: string, listener: Listener): Promise<void>
  /**
   * The same, reading the arguments of the tool call at every delta, in the way the package offers.
   */
  partials?(prompt: string, listener: Listener): Promise<void>
}

/** A file in `clients/` has this as its default export. */
export interface Client {
  /** As shown in the tables. */
  readonly label: string
  /** The packages whose versions are printed, the client's own first. Empty for a floor. */
  readonly packages: readonly string[]
  readonly wires: readonly Wire[]
  /**
   * Source of a module that imports what a user of one provider needs, for import time and size.
   */
  readonly imports?: string
  /** The workloads it is meant for, if not all. */
  readonly only?: readonly string[]
  /** Why a workload is left out, if the package cannot do it. */
  readonly without?: Readonly<Record<string, string>>
  open(setting: Setting): Session | Promise<Session>
}
