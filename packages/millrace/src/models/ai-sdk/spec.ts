import { invalidInput, isObject, kindOf, nameOf } from '../../protocol/index.ts'

// What is called of an AI SDK model, and no more: the packages of the SDK are needed neither to run this nor to compile
// against it.

/** A language model of any AI SDK provider: `openai('…')`, `google('…')`, … Specifications v2 (AI SDK 5), v3 (6) and v4 (7). */
export interface AISDKModel {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  /** By media type, the URLs that the provider fetches itself. */
  readonly supportedUrls?: SupportedUrls | PromiseLike<SupportedUrls>
  doStream(options: AISDKCallOptions): PromiseLike<{ readonly stream: ReadableStream<unknown> }>
}

export type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>

/** What a model is called with, as far as all specifications agree. */
export interface AISDKCallOptions {
  readonly prompt: readonly unknown[]
  readonly abortSignal?: AbortSignal | undefined
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined
}

/** A tool that the provider defines, as its package makes it: `anthropic.tools.webSearch_20250305()`. */
export interface AISDKTool {
  readonly id: string
  readonly args: Readonly<Record<string, unknown>>
}

export type SpecVersion = 'v2' | 'v3' | 'v4'

const op = 'fromAISDK'

/** Throws `invalid_input` on what is no model that can be called. */
export function checkModel(model: unknown): SpecVersion {
  if (typeof model === 'string')
    throw invalidInput(
      op,
      `fromAISDK takes a model, not its name: pass what the provider's package makes, such as openai(${nameOf(model)})`,
    )
  if (!isObject(model) || typeof model.doStream !== 'function' || typeof model.modelId !== 'string')
    throw invalidInput(
      op,
      `fromAISDK takes a language model of an AI SDK provider (with modelId and doStream), not ${kindOf(model)}`,
    )
  const version = model.specificationVersion
  if (version !== 'v2' && version !== 'v3' && version !== 'v4')
    throw invalidInput(
      op,
      `the model '${model.modelId}' has specification ${nameOf(version)}, and v2, v3 and v4 are known: ` +
        "use another version of the provider's package",
    )
  return version
}
