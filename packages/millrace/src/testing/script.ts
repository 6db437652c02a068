import type { ErrorFields, JsonObject, ScriptRound } from '../protocol/index.ts'

export type { ScriptRound, ScriptStep } from '../protocol/index.ts'

/** Short forms for the usual scripts; each gives rounds, so that they can be strung together with `...`. */
export const script = {
  /** One round of words. */
  text: (text: string): ScriptRound[] => [text],
  /** Calls one tool, then answers. */
  tool: (name: string, input: JsonObject, answer: string): ScriptRound[] => [[{ call: name, input }], answer],
  /** Calls several tools in one round, then answers. */
  parallel: (
    calls: readonly (readonly [name: string, input: JsonObject])[],
    answer: string,
  ): ScriptRound[] => [calls.map(([call, input]) => ({ call, input })), answer],
  /** Says something, if given, and fails. */
  failing: (error: string | Partial<ErrorFields>, text?: string): ScriptRound[] => [
    [...(text ? [{ text }] : []), { error }],
  ],
  /** Says something, if given, and never anything more. */
  hanging: (text?: string): ScriptRound[] => [[...(text ? [{ text }] : []), { hang: true }]],
}
