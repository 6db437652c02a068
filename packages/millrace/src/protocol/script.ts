import type { ErrorFields } from './errors.ts'
import type { FinishReason } from './events.ts'
import type { JsonObject, JsonValue } from './json.ts'
import type { ProviderData } from './messages.ts'
import type { Usage } from './usage.ts'

/**
 * One step of a scripted model, as data:
 * - `text`, `reasoning`: emits it in deltas; reasoning may carry data to send back to the provider
 * - `call`: writes a tool call; `raw` replaces its JSON, `cut` leaves the arguments unfinished,
 *   `id` is generated if absent
 * - `providerTool`: a tool that the provider runs itself, with its input and output
 * - `pause`: waits this many milliseconds
 * - `error`: fails; `hang`: emits nothing more until it is aborted; `end`: ends without a terminal
 *   event
 * - `usage`, `finish`: set on the last event. The default `finish` is `tool-calls` after calls,
 *   otherwise `stop`
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

/** What a model does in one round: a list of steps, or just its text. */
export type ScriptRound = string | readonly ScriptStep[]
