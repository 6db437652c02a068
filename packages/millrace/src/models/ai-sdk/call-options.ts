import type { JsonObject, JsonValue, ModelRequest, ModelSettings, ToolChoice } from '../../protocol/index.ts'
import { invalidInput, isJsonObject, isObject, kindOf } from '../../protocol/index.ts'
import { closeObjects } from '../wire/strict.ts'
import type { Download } from './media.ts'
import { toPrompt } from './prompt.ts'
import type { AISDKCallOptions, AISDKModel, AISDKTool, SpecVersion } from './spec.ts'

export interface CallOptions {
  readonly model: AISDKModel
  readonly version: SpecVersion
  readonly tools: Readonly<Record<string, AISDKTool>>
  readonly download: Download | undefined
  readonly signal: AbortSignal
}

/** What `doStream` is called with. */
export async function toCallOptions(
  request: ModelRequest,
  { model, version, tools, download, signal }: CallOptions,
): Promise<AISDKCallOptions> {
  const { settings, output } = request
  const { temperature, topP, maxOutputTokens, stop, seed, reasoning, headers } = settings
  const allTools = toolsOf(request, tools, version)
  const providerOptions = providerOptionsOf(settings, model.provider, allTools.length > 0)
  return {
    prompt: await toPrompt(request.messages, { model, version, download, signal }),
    abortSignal: signal,
    ...given({ temperature, topP, maxOutputTokens, seed, headers, providerOptions }),
    ...(stop && { stopSequences: [...stop] }),
    // Before v4 each provider had its own option for it: `extra: { openai: { reasoningEffort: 'low' } }`.
    ...(version === 'v4' && given({ reasoning })),
    // OpenAI's provider asks for it to be strict.
    ...(output && { responseFormat: { type: 'json', schema: closeObjects(output) } }),
    // The SDK itself always says how tools are chosen, so that is what providers are used to.
    ...(allTools.length > 0 && { tools: allTools, toolChoice: toolChoiceOf(request.toolChoice) }),
  }
}

/** Settings of which `extra` is joined provider by provider. */
export function mergeExtra(
  settings: ModelSettings,
  under: ModelSettings,
  over: ModelSettings,
): ModelSettings {
  if (!under.extra || !over.extra) return settings
  const extra: Record<string, JsonValue> = { ...under.extra }
  for (const [name, value] of Object.entries(over.extra)) {
    const known = extra[name]
    extra[name] = isJsonObject(known) && isJsonObject(value) ? { ...known, ...value } : value
  }
  return { ...settings, extra }
}

function given(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/**
 * The request's own tools in their order, then those of the provider. One of the provider that has the name of one of
 * ours takes its place: the provider knows how it is described (`bash`, `computer`, …) and we run it.
 */
function toolsOf(request: ModelRequest, tools: CallOptions['tools'], version: SpecVersion): unknown[] {
  const ofProvider = new Map(
    Object.entries(tools).map(([name, { id, args }]) => [
      name,
      { type: version === 'v2' ? 'provider-defined' : 'provider', id, name, args },
    ]),
  )
  const ours = request.tools.map(({ name, description, inputSchema, strict }) => {
    const replacement = ofProvider.get(name)
    ofProvider.delete(name)
    const schema = strict ? closeObjects(inputSchema) : inputSchema
    return replacement ?? { type: 'function', name, description, inputSchema: schema, ...given({ strict }) }
  })
  return [...ours, ...ofProvider.values()]
}

function toolChoiceOf(choice: ToolChoice = 'auto') {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.name }
}

function providerOptionsOf(
  { extra = {}, parallelToolCalls }: ModelSettings,
  provider: string,
  withTools: boolean,
): JsonObject | undefined {
  for (const [name, value] of Object.entries(extra))
    if (!isObject(value))
      throw invalidInput(
        'model.stream',
        `settings.extra.${name} is ${kindOf(value)}: for an AI SDK model, extra holds the options of each provider by its name, as { openai: { … } }`,
      )
  const parallel =
    parallelToolCalls === undefined || !withTools
      ? undefined
      : parallelOption(provider, parallelToolCalls, extra)
  if (!parallel) return Object.keys(extra).length > 0 ? extra : undefined
  const [name, option] = parallel
  const own = extra[name]
  return { ...extra, [name]: isJsonObject(own) ? { ...option, ...own } : option }
}

/** There is no common form for it: the providers that are known to have one, and nothing for the others. */
function parallelOption(
  provider: string,
  parallel: boolean,
  extra: JsonObject,
): [name: string, option: JsonObject] | undefined {
  if (/anthropic/.test(provider)) return ['anthropic', { disableParallelToolUse: !parallel }]
  // Azure's takes the options under its own name or OpenAI's, whichever is there, and never both.
  if (provider.startsWith('azure')) return [extra.azure ? 'azure' : 'openai', { parallelToolCalls: parallel }]
  const name = /^(openai|groq|mistral)(\.|$)/.exec(provider)?.[1]
  return name === undefined ? undefined : [name, { parallelToolCalls: parallel }]
}
