import type { AgentDetails, AgentModel, JsonObject, Model } from '../protocol/index.ts'
import type { Budget } from './budget-options.ts'
import type { LoopOptions } from './options.ts'
import { toolSpec } from './request.ts'

const limitNames = [
  'maxRounds',
  'maxCallsPerRound',
  'toolConcurrency',
  'runMs',
  'firstEventMs',
  'idleMs',
  'toolTimeoutMs',
  'maxResultChars',
  'maxContextTokens',
] as const

type Described<Context> = Pick<
  LoopOptions<Context>,
  | (typeof limitNames)[number]
  | 'agent'
  | 'description'
  | 'starters'
  | 'system'
  | 'models'
  | 'choices'
  | 'tools'
  | 'permission'
  | 'settings'
  | 'toolChoice'
  | 'output'
  | 'budget'
  | 'prices'
>

/** How an agent is set up, with its current tools. */
export function describeAgent<Context>(options: Described<Context>): AgentDetails {
  const { agent, description, starters, system, tools, permission, toolChoice, output, budget } = options
  // These may contain keys.
  const { headers, extra, ...settings } = options.settings
  const rules = permission?.rules ?? []
  const limits = limitNames.map((name) => [name, options[name] ?? Number.POSITIVE_INFINITY] as const)
  return {
    name: agent,
    ...(description !== undefined && { description }),
    ...(starters && starters.length > 0 && { starters }),
    ...(system && { system }),
    tools: tools().map(toolSpec),
    models: modelsOf(options),
    ...(rules.length > 0 && { rules }),
    settings,
    ...(toolChoice && { toolChoice }),
    ...(output && { output: output.jsonSchema }),
    limits: Object.fromEntries(limits.filter(([, limit]) => Number.isFinite(limit))),
    ...(budget && { budget: budgetJson(budget) }),
    ...(options.models[0]?.simulated && { isSimulated: true }),
  }
}

/** The default model, its fallbacks, and the others to choose from. */
function modelsOf({
  models,
  choices,
  prices,
}: Pick<Described<never>, 'models' | 'choices' | 'prices'>): AgentModel[] {
  const [first, ...others] = choices as [Model, ...Model[]]
  const fallbacks = new Set(models.filter((model) => !choices.includes(model)))
  return [first, ...fallbacks, ...others].map((model) => {
    const contextTokens = prices.find(model)?.contextTokens
    return {
      id: model.id,
      provider: model.provider,
      ...(contextTokens !== undefined && { contextTokens }),
      ...(fallbacks.has(model) && { isFallback: true }),
      ...(model.simulated && { isSimulated: true }),
    }
  })
}

function budgetJson({ onLimit, ...limits }: Budget): JsonObject {
  const json = typeof onLimit === 'object' ? { ...onLimit, model: onLimit.model.id } : onLimit
  // JSON has no Infinity.
  const finite = (_: string, value: unknown) => (value === Number.POSITIVE_INFINITY ? undefined : value)
  return JSON.parse(JSON.stringify({ ...limits, onLimit: json }, finite))
}
