import type { ErrorFields } from './errors.ts'
import type { FinishReason } from './events.ts'
import type { JsonObject, JsonValue } from './json.ts'
import type { ProviderData } from './messages.ts'
import type { Usage } from './usage.ts'

/**
 * One thing a scripted model does, as data:
 * - `text`, `reasoning`: says it, in deltas; reasoning may carry what must go back to the provider
 * - `call`: writes a tool call; `raw` is what it writes instead of proper JSON, `cut` leaves the arguments unclosed, `id` is
 *   counted up if absent
 * - `providerTool`: a tool that the provider itself runs, with what it was given and what came of it
 * - `pause`: waits so many milliseconds
 * - `error`: fails; `hang`: says nothing more until it is aborted; `end`: ends without a terminal event
 * - `usage`, `finish`: what stands in its last event. Without `finish` it is `tool-calls` after calls and else `stop`
 */
export type ScriptStep =
  | { readonly text: string }
  | { readonly reasoning: string; readonly opaque?: ProviderData }
  | {
      readonly call: string
      readonly input?: JsonObject
      readonly raw?: string
      readonly cut?: boolean
      readonly id?: string
      readonly opaque?: ProviderData
    }
  | {
      readonly providerTool: string
      readonly input?: JsonValue
      readonly output?: JsonValue
      readonly isError?: boolean
      readonly opaque?: ProviderData
    }
  | { readonly pause: number }
  | { readonly error: string | Partial<ErrorFields> }
  | { readonly hang: true }
  | { readonly end: true }
  | { readonly usage: Partial<Usage> }
  | { readonly finish: FinishReason }

/** What a model does in one round: steps, or just its words. */
export type ScriptRound = string | readonly ScriptStep[]
