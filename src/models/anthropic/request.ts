import type { JsonObject, JsonValue, ModelRequest, ModelSettings } from '../../protocol/index.ts'
import { isObject } from '../../protocol/index.ts'
import { bodyOf } from '../wire/body.ts'
import { closedSchema } from '../wire/strict.ts'
import type { CacheTime } from './cache-marks.ts'
import { markCache } from './cache-marks.ts'
import type { Turn } from './messages.ts'
import { anthropicMessages } from './messages.ts'
import type { Traits } from './traits.ts'

export interface AnthropicRequestOptions {
  readonly model: string
  readonly provider: string
  readonly traits: Traits
  readonly settings: ModelSettings
  readonly cache: CacheTime | undefined
}

/** The body of a request to Messages. */
export function anthropicBody(
  request: ModelRequest,
  { model, provider, traits, settings, cache }: AnthropicRequestOptions,
): JsonObject {
  const { temperature, topP, maxOutputTokens, stop, extra } = settings
  const { system, turns } = anthropicMessages(request.messages, provider)
  const tools = request.tools.map(
    ({ name, description, inputSchema, strict }): JsonObject => ({
      name,
      description,
      input_schema: inputSchema,
      ...(strict !== undefined && { strict }),
    }),
  )
  // Marks of the provider's own choosing count among the four.
  if (cache && extra?.cache_control === undefined) markCache({ system, tools, turns }, cache)
  const maxTokens = maxOutputTokens ?? traits.maxTokens
  const choice = toolChoice(request, settings, traits)
  const forced = choice?.type === 'any' || choice?.type === 'tool'
  const { thinking, effort } = reasoningOf(settings, { traits, maxTokens, forced, turns })
  // While it thinks, a model takes no other sampling than its own.
  const sampling = thinking && thinking.type !== 'disabled' ? 'none' : traits.sampling
  const own = isObject(extra?.output_config) ? (extra.output_config as JsonObject) : {}
  const outputConfig: JsonObject = {
    ...(effort && { effort }),
    ...(request.output && { format: { type: 'json_schema', schema: closedSchema(request.output) } }),
    ...own,
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
    { ...extra, ...(Object.keys(outputConfig).length > 0 && { output_config: outputConfig }) },
  )
}

function toolChoice(
  { tools, toolChoice: choice }: ModelRequest,
  { parallelToolCalls }: ModelSettings,
  { forcedTools }: Traits,
): JsonObject | undefined {
  if (tools.length === 0 || (choice === undefined && parallelToolCalls !== false)) return undefined
  const alone = parallelToolCalls === false ? { disable_parallel_tool_use: true } : {}
  if (choice === 'none') return { type: 'none' }
  // One that cannot be held to a tool is left to choose: better than a refusal.
  if (choice === undefined || choice === 'auto' || !forcedTools) return { type: 'auto', ...alone }
  return typeof choice === 'object'
    ? { type: 'tool', name: choice.name, ...alone }
    : { type: 'any', ...alone }
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
    // `Thinking may not be enabled when tool_choice forces tool use.`
    return forced ? { effort } : { thinking: { type: 'adaptive', display: 'summarized' }, effort }
  }
  if (reasoning === 'none' || forced || beganWithoutThinking(turns)) return {}
  const budget = Math.min(budgets[reasoning], maxTokens - 1024)
  return budget >= 1024 ? { thinking: { type: 'enabled', budget_tokens: budget } } : {}
}

/**
 * `Expected thinking or redacted_thinking, but found tool_use`: a turn that was begun without thinking, by another model for
 * instance, must be ended without it.
 */
function beganWithoutThinking(turns: readonly Turn[]): boolean {
  const last = turns.at(-1)
  if (!last?.content.some(({ type }) => type === 'tool_result')) return false
  const before = turns.findLast(({ role }) => role === 'assistant')
  return !String(before?.content[0]?.type).endsWith('thinking')
}
