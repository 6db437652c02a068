import type { JsonObject, JsonValue, ModelRequest, ModelSettings } from '../../protocol/index.ts'
import { askForJson, isJsonObject } from '../../protocol/index.ts'
import { bodyOf, extraTools } from '../wire/body.ts'
import { closedSchema, strictTool } from '../wire/strict.ts'
import { toolCache } from '../wire/tool-cache.ts'
import type { CacheTime } from './cache-marks.ts'
import { markCache } from './cache-marks.ts'
import type { anthropicMessageCache, Turn } from './messages.ts'
import { anthropicMessages } from './messages.ts'
import type { Traits } from './traits.ts'

export interface AnthropicRequestOptions {
  readonly model: string
  readonly convert: ReturnType<typeof anthropicMessageCache>
  readonly traits: Traits
  readonly settings: ModelSettings
  readonly cache: CacheTime | undefined
}

/** The body of a Messages request. */
export function anthropicBody(
  request: ModelRequest,
  { model, convert, traits, settings, cache }: AnthropicRequestOptions,
): JsonObject {
  const { temperature, topP, maxOutputTokens, stop, extra } = settings
  const { system, turns, container } = anthropicMessages(request.messages, convert)
  const native = extraTools(extra)
  const names = new Set(native.map(({ name }) => name))
  // A tool that Anthropic defines and we run (`bash`, an editor) is declared only in Anthropic's
  // format.
  const own = request.tools.filter(({ name }) => !names.has(name))
  const tools = own.map(toolField)
  const answer = request.output && closedSchema(request.output)
  // If the schema cannot be enforced, ask for it in the prompt.
  if (request.output && !answer) system.push({ type: 'text', text: askForJson(request.output) })
  // At most four breakpoints are allowed. If the caller sets any, we add none.
  const marked = extra?.cache_control !== undefined || native.some((tool) => tool.cache_control !== undefined)
  if (cache && !marked) markCache({ system, tools, turns }, cache)
  const maxTokens = maxOutputTokens ?? traits.maxTokens
  const choice = toolChoice(request, settings, { traits, hasTools: tools.length + native.length > 0 })
  const forced = choice?.type === 'any' || choice?.type === 'tool'
  const { thinking, effort } = reasoningOf(settings, { traits, maxTokens, forced, turns })
  // With thinking enabled, sampling settings are rejected.
  const sampling = thinking && thinking.type !== 'disabled' ? 'none' : traits.sampling
  const theirs = isJsonObject(extra?.output_config) ? extra.output_config : {}
  const outputConfig: JsonObject = {
    ...(effort && { effort }),
    ...(answer && { format: { type: 'json_schema', schema: answer } }),
    ...theirs,
  }
  return bodyOf(
    {
      model,
      max_tokens: maxTokens,
      system: system.length > 0 ? system : undefined,
      messages: turns as unknown as JsonValue,
      stream: true,
      tools,
      tool_choice: choice,
      temperature: sampling === 'none' ? undefined : temperature,
      top_p: sampling === 'both' || (sampling === 'one' && temperature === undefined) ? topP : undefined,
      stop_sequences: stop ? [...stop] : undefined,
      thinking,
    },
    {
      ...extra,
      ...(container !== undefined && { container: containerField(container, extra) }),
      ...(Object.keys(outputConfig).length > 0 && { output_config: outputConfig }),
    },
  )
}

const toolField = toolCache((tool) => {
  const { schema, strict } = strictTool(tool, closedSchema)
  const { name, description } = tool
  return { name, description, input_schema: schema, ...(strict !== undefined && { strict }) }
})

/** `extra.container` may be the id of another container, or only options for it (`{ skills }`). */
export function containerField(id: string, extra: JsonObject | undefined): JsonValue {
  const theirs = extra?.container
  if (!isJsonObject(theirs)) return theirs ?? id
  return { id, ...theirs }
}

function toolChoice(
  { toolChoice: choice }: ModelRequest,
  { parallelToolCalls }: ModelSettings,
  { traits: { forcedTools }, hasTools }: { readonly traits: Traits; readonly hasTools: boolean },
): JsonObject | undefined {
  if (!hasTools || (choice === undefined && parallelToolCalls !== false)) return undefined
  const single = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {}
  if (choice === 'none') return { type: 'none' }
  // If the model does not support forced tools, let it choose: better than a rejected request.
  if (choice === undefined || choice === 'auto' || !forcedTools) return { type: 'auto', ...single }
  return typeof choice === 'object'
    ? { type: 'tool', name: choice.name, ...single }
    : { type: 'any', ...single }
}

const budgets = { minimal: 1024, low: 4096, medium: 12_000, high: 32_000 } as const

function reasoningOf(
  { reasoning }: ModelSettings,
  {
    traits,
    maxTokens,
    forced,
    turns,
  }: { traits: Traits; maxTokens: number; forced: boolean; turns: readonly Turn[] },
): { thinking?: JsonObject; effort?: string } {
  if (reasoning === undefined || traits.thinking === 'none') return {}
  if (traits.thinking === 'adaptive') {
    if (reasoning === 'none')
      return traits.alwaysThinks ? { effort: 'low' } : { thinking: { type: 'disabled' } }
    const effort = reasoning === 'minimal' ? 'low' : reasoning
    // Not every model accepts thinking and a forced tool together.
    return forced ? { effort } : { thinking: { type: 'adaptive', display: 'summarized' }, effort }
  }
  if (reasoning === 'none' || forced || beganWithoutThinking(turns)) return {}
  const budget = Math.min(budgets[reasoning], maxTokens - 1024)
  return budget >= 1024 ? { thinking: { type: 'enabled', budget_tokens: budget } } : {}
}

/**
 * A turn that was started without thinking, for example by another model, must be finished without
 * it: `Expected thinking or redacted_thinking, but found tool_use`.
 */
function beganWithoutThinking(turns: readonly Turn[]): boolean {
  const asked = turns.findLastIndex(
    ({ role, content }) => role === 'user' && !content.some(({ type }) => type === 'tool_result'),
  )
  const first = turns[asked + 1]
  return first !== undefined && !String(first.content[0]?.type).endsWith('thinking')
}
