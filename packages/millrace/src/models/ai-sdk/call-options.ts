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

/** The options for `doStream`. */
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
    ...defined({ temperature, topP, maxOutputTokens, seed, headers, providerOptions }),
    ...(stop && { stopSequences: [...stop] }),
    // Before v4 each provider had its own option: `extra: { openai: { reasoningEffort: 'low' } }`.
    ...(version === 'v4' && defined({ reasoning })),
    // OpenAI's provider requests strict mode, which needs closed objects.
    ...(output && { responseFormat: { type: 'json', schema: closeObjects(output) } }),
    // The SDK always sends a tool choice, so providers may rely on it.
    ...(allTools.length > 0 && { tools: allTools, toolChoice: toolChoiceOf(request.toolChoice) }),
  }
}

/** Merges `extra` per provider. */
export function mergeExtra(
  settings: ModelSettings,
  defaults: ModelSettings,
  overrides: ModelSettings,
): ModelSettings {
  if (!defaults.extra || !overrides.extra) return settings
  const extra: Record<string, JsonValue> = { ...defaults.extra }
  for (const [name, value] of Object.entries(overrides.extra)) {
    const known = extra[name]
    extra[name] = isJsonObject(known) && isJsonObject(value) ? { ...known, ...value } : value
  }
  return { ...settings, extra }
}

function defined(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/**
 * The request's tools in order, then the provider's. A provider tool with the name of one of ours
 * replaces its declaration: the provider knows its description (`bash`, `computer`, …), and we run
 * it.
 */
function toolsOf(request: ModelRequest, tools: CallOptions['tools'], version: SpecVersion): unknown[] {
  const providerTools = new Map(
    Object.entries(tools).map(([name, { id, args }]) => [
      name,
      { type: version === 'v2' ? 'provider-defined' : 'provider', id, name, args },
    ]),
  )
  const requestTools = request.tools.map(({ name, description, inputSchema, strict }) => {
    const replacement = providerTools.get(name)
    providerTools.delete(name)
    const schema = strict ? closeObjects(inputSchema) : inputSchema
    return replacement ?? { type: 'function', name, description, inputSchema: schema, ...defined({ strict }) }
  })
  return [...requestTools, ...providerTools.values()]
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
        `settings.extra.${name} must be an object, not ${kindOf(value)}: for an AI SDK model, extra is keyed by provider: { openai: { … } }`,
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

/** The SDK has no common option for this. Undefined for providers that have none. */
function parallelOption(
  provider: string,
  parallel: boolean,
  extra: JsonObject,
): [name: string, option: JsonObject] | undefined {
  if (/anthropic/.test(provider)) return ['anthropic', { disableParallelToolUse: !parallel }]
  // Azure's provider reads its options under its own name or OpenAI's, never both.
  if (provider.startsWith('azure')) return [extra.azure ? 'azure' : 'openai', { parallelToolCalls: parallel }]
  const name = /^(openai|groq|mistral)(\.|$)/.exec(provider)?.[1]
  return name === undefined ? undefined : [name, { parallelToolCalls: parallel }]
}
