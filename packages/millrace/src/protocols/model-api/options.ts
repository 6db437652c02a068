import type { OptionTable } from '../../protocol/index.ts'
import { checkOptions, oneOf, someText, wholeNumber } from '../../protocol/index.ts'
import type { ModelApiOptions } from './model-api.ts'

/** The options of `openaiApi()` and `anthropicApi()`. */
export interface ModelProtocolOptions {
  /** Where the endpoints are. Defaults to `/v1`, as the SDKs expect. */
  readonly path?: string | undefined
  /** The agent for model names that no agent has. By default such requests are rejected with 404. */
  readonly agent?: string | undefined
  /**
   * What happens when the last client that reads an answer has disconnected. `stop`, the default,
   * is what clients expect: they can only disconnect. Answers in the background always continue.
   */
  readonly onDisconnect?: 'stop' | 'continue' | undefined
  /**
   * How long a client may take to reconnect, or to send the request again, before the run is
   * stopped. Defaults to 5000.
   */
  readonly graceMs?: number | undefined
}

const table: OptionTable<ModelProtocolOptions> = {
  path: (value) =>
    !(typeof value === 'string' && /^(?:\/[\w.~-]+)+$/.test(value)) && "must be a path such as '/v1'",
  agent: someText,
  onDisconnect: oneOf('stop', 'continue'),
  graceMs: wholeNumber(0),
}

/** Clients send whole conversations, with images. The limits of providers are about the same. */
export const bodyBytes = 32 * 1024 * 1024

/** Throws `invalid_input` naming the option. */
export function readModelOptions(
  options: ModelProtocolOptions,
  op: string,
): ModelApiOptions & { readonly path: string } {
  checkOptions(options, table, { op, what: 'the option' })
  const { path = '/v1', agent, onDisconnect = 'stop', graceMs = 5000 } = options
  return { op, path, agent, graceMs: onDisconnect === 'stop' ? graceMs : undefined }
}
