import type { ErrorFields, JsonObject, ScriptRound } from '../protocol/index.ts'

export type { ScriptRound, ScriptStep } from '../protocol/index.ts'

/** Short forms for common scripts. Each returns rounds, so that they can be combined with `...`. */
export const script = {
  /** One round of text. */
  text: (text: string): ScriptRound[] => [text],
  /** Calls one tool, then answers. */
  tool: (name: string, input: JsonObject, answer: string): ScriptRound[] => [[{ call: name, input }], answer],
  /** Calls several tools in one round, then answers. */
  parallel: (
    calls: readonly (readonly [name: string, input: JsonObject])[],
    answer: string,
  ): ScriptRound[] => [calls.map(([call, input]) => ({ call, input })), answer],
  /** Emits the text, if given, and fails. */
  failing: (error: string | Partial<ErrorFields>, text?: string): ScriptRound[] => [
    [...(text ? [{ text }] : []), { error }],
  ],
  /** Emits the text, if given, and hangs. */
  hanging: (text?: string): ScriptRound[] => [[...(text ? [{ text }] : []), { hang: true }]],
}
