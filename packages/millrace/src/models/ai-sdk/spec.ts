import { invalidInput, isObject, kindOf, nameOf } from '../../protocol/index.ts'

// Only the parts of an AI SDK model that are used here, so that neither running nor compiling this
// code needs the SDK's packages.

/**
 * A language model of any AI SDK provider: `openai('…')`, `google('…')`, … Specifications v2 (AI
 * SDK 5), v3 (6) and v4 (7).
 */
export interface AISDKModel {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  /** The URLs that the provider fetches itself, by media type. */
  readonly supportedUrls?: SupportedUrls | PromiseLike<SupportedUrls>
  doStream(options: AISDKCallOptions): PromiseLike<{ readonly stream: ReadableStream<unknown> }>
}

export type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>

/** The call options that all specifications share. */
export interface AISDKCallOptions {
  readonly prompt: readonly unknown[]
  readonly abortSignal?: AbortSignal | undefined
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined
}

/** A provider-defined tool: `anthropic.tools.webSearch_20250305()`. */
export interface AISDKTool {
  readonly id: string
  readonly args: Readonly<Record<string, unknown>>
}

export type SpecVersion = 'v2' | 'v3' | 'v4'

const op = 'fromAISDK'

/** Throws `invalid_input` if `model` is not a supported AI SDK model. */
export function checkModel(model: unknown): SpecVersion {
  if (typeof model === 'string')
    throw invalidInput(
      op,
      `fromAISDK() takes a model, not its name: pass a model from the provider's package, such as openai(${nameOf(model)})`,
    )
  if (!isObject(model) || typeof model.doStream !== 'function' || typeof model.modelId !== 'string')
    throw invalidInput(
      op,
      `fromAISDK() takes a language model of an AI SDK provider (with modelId and doStream), not ${kindOf(model)}`,
    )
  const version = model.specificationVersion
  if (version !== 'v2' && version !== 'v3' && version !== 'v4')
    throw invalidInput(
      op,
      `the model '${model.modelId}' has specification version ${nameOf(version)}; supported are v2, v3 and v4: ` +
        "use another version of the provider's package",
    )
  return version
}
