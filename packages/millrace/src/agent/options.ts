import type { BudgetStore } from '../log/index.ts'
import type {
  Clock,
  JsonObject,
  Model,
  ModelSettings,
  ObserveCall,
  OptionTable,
  Price,
  RunEvent,
  Telemetry,
  ToolChoice,
} from '../protocol/index.ts'
import {
  aFunction,
  anObject,
  anything,
  checkOptions,
  duration,
  invalidInput,
  isObject,
  kindOf,
  mergeSettings,
  metadataProblem,
  nameOf,
  oneOf,
  settingsProblem,
  someText,
  systemClock,
  wholeNumber,
  yesOrNo,
} from '../protocol/index.ts'
import type {
  AfterCall,
  BeforeCall,
  CompiledSchema,
  InferInput,
  InferValue,
  Metadata,
  NestedRun,
  Policy,
  PolicyChain,
  RepeatLimits,
  Replacement,
  Schema,
  Tool,
  Toolbox,
  ToolContext,
} from '../tools/index.ts'
import { compileSchema, isToolbox, toolsIn } from '../tools/index.ts'
import type { Budget } from './budget-options.ts'
import { checkBudget, mergeBudgets } from './budget-options.ts'
import { combineTelemetry, telemetryProblem } from './combine-telemetry.ts'
import type { Compact } from './compact.ts'
import {
  choicesOf,
  definedOptions,
  modelList,
  modelProblem,
  repeatLimitsProblem,
  startersProblem,
  toolChoiceProblem,
  toolsProblem,
} from './option-checks.ts'
import type { Prices } from './prices.ts'
import { pricesProblem, pricesWith } from './prices.ts'
import type { PrepareRound } from './request.ts'
import type { RetryOptions, RetryPolicy } from './retry.ts'
import { summarize } from './summarize.ts'

export interface AgentOptions<
  Context = unknown,
  Output extends Schema | undefined = Schema | undefined,
  Tools extends readonly (Tool | Toolbox)[] = readonly (Tool<Context> | Toolbox<Context>)[],
  Name extends string = string,
  Replaced extends Replacement | undefined | void = Replacement | undefined | void,
> {
  /** Appears in the events. */
  readonly name?: Name | undefined
  /** The model, or a list of models: the next one is tried when the ones before it have failed. */
  readonly model: Model | readonly Model[]
  /** Other models that a message can choose with `request.model`. */
  readonly models?: readonly Model[] | undefined
  /** What the agent can do, in a sentence. User interfaces show it. */
  readonly description?: string | undefined
  /** Messages to start a conversation with. User interfaces offer them. */
  readonly starters?: readonly string[] | undefined
  /** Rejects models that cannot stream with `streaming_not_supported`. */
  readonly requireStreaming?: boolean | undefined
  readonly system?: string | undefined
  readonly tools?: Tools | undefined
  /**
   * How many rounds may run tools. One more round may follow; its tool calls are not run.
   * `Infinity` for no limit.
   */
  readonly maxRounds?: number | undefined
  /** Schema of the final answer. The model answers in JSON, and `result.output` is its value. */
  readonly output?: Output | undefined
  /** How often the model is asked to correct an answer that does not match `output`. */
  readonly maxCorrections?: number | undefined
  readonly settings?: ModelSettings | undefined
  readonly toolChoice?: ToolChoice | undefined
  readonly retry?: RetryOptions | undefined
  /** Timeout for the model's first event. `Infinity` for none. */
  readonly firstEventMs?: number | undefined
  /** Timeout between two events of the model. `Infinity` for none. */
  readonly idleMs?: number | undefined
  /** Timeout for the whole run. `Infinity` for none. */
  readonly runMs?: number | undefined
  /** Timeout of tools without a `timeoutMs`. */
  readonly toolTimeoutMs?: number | undefined
  /** How many tool calls may run at the same time. */
  readonly toolConcurrency?: number | undefined
  readonly maxCallsPerRound?: number | undefined
  /** How much of a tool's result the model reads. */
  readonly maxResultChars?: number | undefined
  /** How much of a tool's result is kept in the events. Never less than the model reads. */
  readonly maxOutputChars?: number | undefined
  /**
   * When a model that repeats a tool call is warned, and when the call is blocked; `false` for
   * never.
   */
  readonly repeatLimits?: RepeatLimits | false | undefined
  /** `continue` lets the model handle a failed tool call; `fail` ends the run. */
  readonly onToolError?: 'continue' | 'fail' | undefined
  /** The maximum length of a conversation. Close to it, the conversation is compacted. */
  readonly maxContextTokens?: number | undefined
  /** How a conversation is compacted. Defaults to `summarize()`; `false` turns it off. */
  readonly compact?: Compact | false | undefined
  /**
   * What models cost, by their ids, in US dollars per million tokens. Only for models that are not
   * in the catalog of prices, or that cost something else.
   */
  readonly prices?: Readonly<Record<string, Price>> | undefined
  /** What runs may spend, and what happens when a limit is reached. */
  readonly budget?: Budget | undefined
  /** What tools may do without approval, from `permission()`. Everything if absent. */
  readonly permission?: Policy | undefined
  readonly prepareRound?: PrepareRound<Context> | undefined
  readonly beforeCall?: BeforeCall<Context> | undefined
  readonly afterCall?: AfterCall<Context, Replaced> | undefined
  /**
   * Observes the agent's runs: `otel()` of `@millrace/otel`, `logs()`, or a list. Runs of a thread
   * use the app's telemetry instead. Runs started by a tool use the telemetry of the parent run, if
   * it has any.
   */
  readonly telemetry?: Telemetry | readonly Telemetry[] | undefined
  /** For tests that control the time. */
  readonly clock?: Clock | undefined
}

/** Options for a single run. */
export interface RunOptions<Context = unknown> {
  /** Passed to every tool and hook. */
  readonly context?: Context | undefined
  readonly signal?: AbortSignal | undefined
  readonly maxRounds?: number | undefined
  readonly settings?: ModelSettings | undefined
  readonly toolChoice?: ToolChoice | undefined
  /** More tools for this run. A tool of the agent with the same name takes precedence. */
  readonly tools?: readonly Tool[] | undefined
  /** Added to the agent's system prompt. */
  readonly system?: string | undefined
  readonly runMs?: number | undefined
  /** Replaces limits of the agent's budget. */
  readonly budget?: Budget | undefined
  /** The conversation id to report to telemetry. */
  readonly conversation?: string | undefined
  /** What `context.metadata()` of tools is at the start. Default: `{}`. */
  readonly metadata?: JsonObject | undefined
}

export const agentDefaults = {
  name: 'agent',
  requireStreaming: false,
  maxRounds: 10,
  maxCorrections: 1,
  settings: {},
  retry: { attempts: 3, baseMs: 500, maxDelayMs: 60_000 },
  firstEventMs: 300_000,
  idleMs: 300_000,
  runMs: Number.POSITIVE_INFINITY,
  toolTimeoutMs: 300_000,
  toolConcurrency: 8,
  maxCallsPerRound: 32,
  maxResultChars: 50_000,
  maxOutputChars: 200_000,
  repeatLimits: { warn: 3, block: 6 },
  onToolError: 'continue',
} as const satisfies Partial<AgentOptions>

type WithDefaults = {
  readonly [Name in Exclude<keyof typeof agentDefaults, 'name' | 'retry' | 'repeatLimits'>]: NonNullable<
    AgentOptions[Name]
  >
}

type WithoutDefaults =
  | 'description'
  | 'starters'
  | 'system'
  | 'toolChoice'
  | 'maxContextTokens'
  | 'budget'
  | 'permission'
  | 'prepareRound'
  | 'beforeCall'
  | 'afterCall'

/** Everything one run needs, checked and with defaults filled in. */
export interface LoopOptions<Context> extends WithDefaults, Pick<AgentOptions<Context>, WithoutDefaults> {
  readonly agent: string
  /** The model that answers, and its fallbacks in the order in which they are tried. */
  readonly models: readonly Model[]
  /** The models that a request can choose from. The first one is the default. */
  readonly choices: readonly Model[]
  /** The current tools; a toolbox may change them. */
  readonly tools: () => readonly Tool<Context>[]
  readonly context: Context
  readonly output: CompiledSchema | undefined
  readonly planOnly: boolean
  readonly retry: RetryPolicy
  readonly repeatLimits: RepeatLimits | undefined
  readonly compact: Compact | undefined
  readonly prices: Prices
  readonly clock: Clock
  /** For a nested run: called with each event, in the same turn. */
  readonly relay?: ((event: RunEvent) => void) | undefined
  /** Resolves when the events so far are durable. No tool starts before that. */
  readonly commit?: (() => Promise<void>) | undefined
  /** Called for each model call; observes its wire traffic. */
  readonly observe?: ObserveCall | undefined
  readonly telemetry: Telemetry | undefined
  readonly conversation: string | undefined
  /** The metadata before the first entry that changes it. */
  readonly metadata: JsonObject | undefined
  /** The run belongs to a thread. */
  readonly inThread?: boolean | undefined
  /** What the thread's user and agent spend per day. Only runs of a thread have it. */
  readonly budgetStore?: BudgetStore | undefined
  /** The trace contexts of the inputs it answers. */
  readonly parentTraces?: readonly string[] | undefined
  /** Rules from outside of the agent. */
  readonly parentPolicies?: PolicyChain | undefined
  /** The run whose tool call started this one. */
  readonly parentRun?:
    | (Pick<NestedRun, 'policies' | 'granted' | 'budget'> &
        Partial<Pick<NestedRun, 'thread'>> &
        Pick<ToolContext, 'runSignal'> & { readonly metadata?: Metadata | undefined })
    | undefined
}

/** The value of an agent's answers; `undefined` without an `output` schema. */
export type OutputOf<Output extends Schema | undefined> = Output extends Schema
  ? InferValue<Output>
  : undefined

/** The same value while it is being generated, before the schema transforms it. */
export type DraftOf<Output extends Schema | undefined> = Output extends Schema
  ? InferInput<Output>
  : undefined

const agentTable: OptionTable<AgentOptions> = {
  name: someText,
  model: (value) => (Array.isArray(value) ? value.length === 0 && 'is an empty list' : modelProblem(value)),
  models: (value) => !Array.isArray(value) && `must be an array of models, not ${kindOf(value)}`,
  description: someText,
  starters: startersProblem,
  requireStreaming: yesOrNo,
  system: (value) => typeof value !== 'string' && `must be a string, not ${kindOf(value)}`,
  tools: toolsProblem,
  maxRounds: (value) =>
    value !== Number.POSITIVE_INFINITY &&
    wholeNumber(0)(value) &&
    `must be a whole number of at least 0, or Infinity, not ${nameOf(value)}`,
  output: anything,
  maxCorrections: wholeNumber(0),
  settings: settingsProblem,
  toolChoice: toolChoiceProblem,
  retry: anObject,
  firstEventMs: duration,
  idleMs: duration,
  runMs: duration,
  toolTimeoutMs: duration,
  toolConcurrency: wholeNumber(1),
  maxCallsPerRound: wholeNumber(1),
  maxResultChars: wholeNumber(1),
  maxOutputChars: wholeNumber(1),
  repeatLimits: repeatLimitsProblem,
  onToolError: oneOf('continue', 'fail'),
  maxContextTokens: wholeNumber(1),
  compact: (value) =>
    value !== false &&
    typeof value !== 'function' &&
    `must be false or a function, such as summarize() returns, not ${kindOf(value)}`,
  prices: pricesProblem,
  budget: anObject,
  permission: (value) =>
    !(isObject(value) && typeof value.decide === 'function') && 'must be created with permission({ … })',
  prepareRound: aFunction,
  beforeCall: aFunction,
  afterCall: aFunction,
  telemetry: telemetryProblem,
  clock: (value) =>
    !(isObject(value) && [value.now, value.after, value.turn].every((part) => typeof part === 'function')) &&
    'must be a Clock, with now, after and turn',
}

const runTable: OptionTable<RunOptions> = {
  context: anything,
  signal: (value) => !(value instanceof AbortSignal) && 'must be an AbortSignal',
  maxRounds: agentTable.maxRounds,
  settings: agentTable.settings,
  toolChoice: agentTable.toolChoice,
  tools: toolsProblem,
  system: someText,
  runMs: agentTable.runMs,
  budget: agentTable.budget,
  conversation: someText,
  metadata: metadataProblem,
}

const notNegative = (value: unknown) =>
  !(typeof value === 'number' && value >= 0) && 'must be a number of milliseconds'

const retryTable: OptionTable<RetryOptions> = {
  attempts: wholeNumber(1),
  baseMs: notNegative,
  maxDelayMs: notNegative,
}

/** Checks an agent's options and fills in defaults. Throws `invalid_input` naming the option. */
export function checkAgentOptions<Context>(
  options: AgentOptions<Context>,
  op: string,
): Omit<LoopOptions<Context>, 'context' | 'planOnly' | 'conversation' | 'metadata'> {
  if (!isObject(options as unknown))
    throw invalidInput(op, `agent() takes one object of options, not ${kindOf(options)}`)
  checkOptions(options, agentTable, { op, what: 'the agent option' })
  if (options.model === undefined)
    throw invalidInput(
      op,
      "agent() needs a model, such as agent({ model: openai('gpt-5.5') }) with openai from 'millrace/openai'",
    )
  if (options.budget) checkBudget(options.budget, { op, what: 'the agent option' })
  if (options.retry) checkOptions(options.retry, retryTable, { op, what: 'the agent option retry.' })
  const { requireStreaming = agentDefaults.requireStreaming, tools: listed = [] } = options
  const checks = { op, requireStreaming }
  const models = modelList(Array.isArray(options.model) ? options.model : [options.model], checks)
  const choices = choicesOf(models, modelList(options.models ?? [], checks), op)
  const tools = () => toolsIn(listed)
  const withoutTools = listed.length > 0 && choices.find(({ capabilities }) => !capabilities.tools)
  if (withoutTools)
    throw invalidInput(
      op,
      `the model '${withoutTools.id}' does not support tools: remove them, or use another model`,
    )
  // The tools of a toolbox may change, so with one the choice is checked when a run starts.
  if (!listed.some(isToolbox)) checkChoice(options.toolChoice, tools(), op)
  const own = { ...agentDefaults, ...definedOptions(options) }
  return {
    ...own,
    agent: own.name,
    models,
    choices,
    tools,
    output: options.output && compileSchema(options.output, { op, what: 'output' }),
    retry: { ...agentDefaults.retry, ...definedOptions(own.retry) },
    repeatLimits: own.repeatLimits || undefined,
    compact: (own.compact ?? summarize()) || undefined,
    prices: pricesWith(own.prices ?? {}),
    telemetry: combineTelemetry(own.telemetry),
    clock: own.clock ?? systemClock,
  }
}

/** Overrides the agent's options with those of one run. */
export function mergeRunOptions<Context>(
  agent: Omit<LoopOptions<Context>, 'context' | 'planOnly' | 'conversation' | 'metadata'>,
  run: RunOptions<Context>,
  op: string,
): Omit<LoopOptions<Context>, 'planOnly'> {
  if (!isObject(run as unknown))
    throw invalidInput(op, `the run options must be an object, not ${kindOf(run)}`)
  checkOptions(run, runTable, { op, what: 'the run option' })
  if (run.budget) checkBudget(run.budget, { op, what: 'the run option' })
  const { tools: more, system } = run
  const tools = more ? () => withMore(agent.tools(), more) : agent.tools
  checkChoice(run.toolChoice, tools(), op)
  return {
    ...agent,
    tools,
    system: [agent.system, system].filter(Boolean).join('\n\n') || undefined,
    context: run.context as Context,
    settings: run.settings ? mergeSettings(agent.settings, run.settings) : agent.settings,
    toolChoice: run.toolChoice ?? agent.toolChoice,
    maxRounds: run.maxRounds ?? agent.maxRounds,
    runMs: run.runMs ?? agent.runMs,
    budget: mergeBudgets(agent.budget, run.budget),
    conversation: run.conversation,
    metadata: run.metadata,
  }
}

/** The agent's own tools take precedence over others of the same name. */
export function withMore<Context>(
  own: readonly Tool<Context>[],
  more: readonly Tool<Context>[],
): readonly Tool<Context>[] {
  const names = new Set(own.map(({ name }) => name))
  return [...own, ...more.filter(({ name }) => !names.has(name))]
}

/** Catches a choice that the provider would reject with a 400. */
export function checkChoice(choice: ToolChoice | undefined, tools: readonly Tool[], op: string) {
  if (typeof choice === 'object' && !tools.some(({ name }) => name === choice.name))
    throw invalidInput(op, `toolChoice names '${choice.name}', but the agent has no such tool`)
  if (choice === 'required' && tools.length === 0)
    throw invalidInput(op, "toolChoice is 'required', but the agent has no tools")
}
