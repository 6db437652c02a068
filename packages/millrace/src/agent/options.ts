import type {
  Clock,
  Model,
  ModelSettings,
  ObserveCall,
  OptionTable,
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
  NestedRun,
  Policy,
  RepeatLimits,
  Replacement,
  Schema,
  Tool,
  Toolbox,
  ToolContext,
} from '../tools/index.ts'
import { compileSchema, isToolbox, toolsIn } from '../tools/index.ts'
import { onlookers, telemetryProblem } from './onlookers.ts'
import {
  modelList,
  modelProblem,
  repeatLimitsProblem,
  toolChoiceProblem,
  toolsProblem,
} from './option-checks.ts'
import type { PrepareRound } from './request.ts'
import type { RetryOptions, RetryPolicy } from './retry.ts'
import type { Shorten } from './shorten.ts'
import { summarize } from './summarize.ts'

export interface AgentOptions<
  Context = unknown,
  Output extends Schema | undefined = Schema | undefined,
  Tools extends readonly (Tool | Toolbox)[] = readonly (Tool<Context> | Toolbox<Context>)[],
  Name extends string = string,
  Replaced extends Replacement | undefined | void = Replacement | undefined | void,
> {
  /** Stands in the events. */
  readonly name?: Name | undefined
  /** The model, or a list: each next one is tried when those before it have failed. */
  readonly model: Model | readonly Model[]
  /** Refuses a model that gives its whole answer at once, with `streaming_not_supported`. */
  readonly requireStreaming?: boolean | undefined
  readonly system?: string | undefined
  readonly tools?: Tools | undefined
  /** How many rounds may run tools; there is one more generation than that. `Infinity` for no limit. */
  readonly maxRounds?: number | undefined
  /** The final answer is JSON of this schema, and `result.output` its value. */
  readonly output?: Output | undefined
  /** How often the model is asked again for an answer that does not fit `output`. */
  readonly maxCorrections?: number | undefined
  readonly settings?: ModelSettings | undefined
  readonly toolChoice?: ToolChoice | undefined
  readonly retry?: RetryOptions | undefined
  /** The longest wait for the model's first event, and between two; for the whole run. `Infinity` for none. */
  readonly firstEventMs?: number | undefined
  readonly idleMs?: number | undefined
  readonly runMs?: number | undefined
  /** The longest a tool may run that sets no `timeoutMs` of its own. */
  readonly toolTimeoutMs?: number | undefined
  /** How many calls may run at once. */
  readonly toolConcurrency?: number | undefined
  readonly maxCallsPerRound?: number | undefined
  /** How much of a tool's result the model is shown. */
  readonly maxResultChars?: number | undefined
  /** How much of it the events carry, and a thread keeps; at least as much as the model is shown. */
  readonly maxOutputChars?: number | undefined
  /** When a model that repeats itself is told, and when it is refused; `false` lets it. */
  readonly repeatLimits?: RepeatLimits | false | undefined
  /** `fail` ends the run at the first call that goes wrong, instead of telling the model. */
  readonly onToolError?: 'continue' | 'fail' | undefined
  /** How long a conversation may become for the model; near that it is shortened before the provider refuses it. */
  readonly contextTokens?: number | undefined
  /** How it is shortened: `summarize()` if absent; `false` leaves it as it is. */
  readonly shorten?: Shorten | false | undefined
  /** What its tools may do without asking, as `permission()` makes it. Everything, if absent. */
  readonly permission?: Policy | undefined
  readonly prepareRound?: PrepareRound<Context> | undefined
  readonly beforeCall?: BeforeCall<Context> | undefined
  readonly afterCall?: AfterCall<Context, Replaced> | undefined
  /**
   * Looks on at its runs: `otel()` of `@millrace/otel`, `logs()`, or several. Those of a thread are the app's to look at, and those
   * that a tool starts its run's, if there is anybody.
   */
  readonly telemetry?: Telemetry | readonly Telemetry[] | undefined
  /** For tests that own the time. */
  readonly clock?: Clock | undefined
}

/** What may be different for one run. */
export interface RunOptions<Context = unknown> {
  /** Handed to every tool and hook. */
  readonly context?: Context | undefined
  readonly signal?: AbortSignal | undefined
  readonly maxRounds?: number | undefined
  readonly settings?: ModelSettings | undefined
  readonly toolChoice?: ToolChoice | undefined
  readonly runMs?: number | undefined
  /** What you call the conversation that it belongs to, for whoever looks on. */
  readonly conversation?: string | undefined
}

/** What an agent does where its options say nothing else. */
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
  repeatLimits: { warn: 3, refuse: 6 },
  onToolError: 'continue',
} as const satisfies Partial<AgentOptions>

type WithDefaults = {
  readonly [Name in Exclude<keyof typeof agentDefaults, 'name' | 'retry' | 'repeatLimits'>]: NonNullable<
    AgentOptions[Name]
  >
}

type AsGiven =
  | 'system'
  | 'toolChoice'
  | 'contextTokens'
  | 'permission'
  | 'prepareRound'
  | 'beforeCall'
  | 'afterCall'

/** Everything one run needs, checked and with defaults filled in. */
export interface LoopOptions<Context> extends WithDefaults, Pick<AgentOptions<Context>, AsGiven> {
  readonly agent: string
  readonly models: readonly Model[]
  /** Those that there are now. */
  readonly tools: () => readonly Tool<Context>[]
  readonly context: Context
  readonly output: CompiledSchema | undefined
  readonly planOnly: boolean
  readonly retry: RetryPolicy
  readonly repeatLimits: RepeatLimits | undefined
  readonly shorten: Shorten | undefined
  readonly clock: Clock
  /** For the run of a sub-agent or of a thread: told of each event in the turn in which it happens. */
  readonly relay?: ((event: RunEvent) => void) | undefined
  /** Resolves when what was relayed so far is safe. No tool starts before that. */
  readonly commit?: (() => Promise<void>) | undefined
  /** Told of each model call, and of what goes over the wire. */
  readonly observe?: ObserveCall | undefined
  readonly telemetry: Telemetry | undefined
  readonly conversation: string | undefined
  /** Started by the log of a thread, not by a caller. */
  readonly inThread?: boolean | undefined
  /** The trace contexts of those whose words it answers. */
  readonly causes?: readonly string[] | undefined
  /** The run that has started this one as a tool of its own. */
  readonly above?: (Pick<NestedRun, 'guard' | 'granted'> & Pick<ToolContext, 'runSignal'>) | undefined
}

/** The value of an agent's answers; `undefined` without an `output` schema. */
export type OutputOf<Output extends Schema | undefined> = Output extends Schema
  ? InferValue<Output>
  : undefined

/** The same while it is being written, before any transformation. */
export type DraftOf<Output extends Schema | undefined> = Output extends Schema
  ? InferInput<Output>
  : undefined

const agentTable: OptionTable<AgentOptions> = {
  name: someText,
  model: (value) => (Array.isArray(value) ? value.length === 0 && 'is an empty list' : modelProblem(value)),
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
  contextTokens: wholeNumber(1),
  shorten: (value) =>
    value !== false &&
    typeof value !== 'function' &&
    `must be false or a function, such as summarize() makes, not ${kindOf(value)}`,
  permission: (value) =>
    !(isObject(value) && typeof value.judge === 'function') && 'must be what permission({ … }) has made',
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
  runMs: agentTable.runMs,
  conversation: someText,
}

const notNegative = (value: unknown) =>
  !(typeof value === 'number' && value >= 0) && 'must be a number of milliseconds'

const retryTable: OptionTable<RetryOptions> = {
  attempts: wholeNumber(1),
  baseMs: notNegative,
  maxDelayMs: notNegative,
}

/** An option that is undefined is one that was left out. */
function given<Options extends object>(
  options: Options,
): { [Name in keyof Options]?: Exclude<Options[Name], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Options
}

/** The settings of an agent with defaults, before those of a run. Throws `invalid_input` naming the option. */
export function checkAgentOptions<Context>(
  options: AgentOptions<Context>,
  op: string,
): Omit<LoopOptions<Context>, 'context' | 'planOnly' | 'conversation'> {
  if (!isObject(options as unknown))
    throw invalidInput(op, `agent() takes one object of options, not ${kindOf(options)}`)
  checkOptions(options, agentTable, { op, what: 'the agent option' })
  if (options.model === undefined)
    throw invalidInput(
      op,
      "agent() needs a model, such as agent({ model: openai('gpt-5.5') }) with openai of 'millrace/openai'",
    )
  if (options.retry) checkOptions(options.retry, retryTable, { op, what: 'the agent option retry.' })
  const { requireStreaming = agentDefaults.requireStreaming, tools: listed = [] } = options
  const models = modelList(Array.isArray(options.model) ? options.model : [options.model], {
    op,
    requireStreaming,
  })
  const [first] = models as [Model]
  const tools = () => toolsIn(listed)
  if (listed.length > 0 && !first.capabilities.tools)
    throw invalidInput(op, `the model '${first.id}' takes no tools: remove them, or use another model`)
  // What a toolbox holds may change, and may not be known yet: then it is checked when a run begins.
  if (!listed.some(isToolbox)) checkChoice(options.toolChoice, tools(), op)
  const own = { ...agentDefaults, ...given(options) }
  return {
    ...own,
    agent: own.name,
    models,
    tools,
    output: options.output && compileSchema(options.output, { op, what: 'output' }),
    retry: { ...agentDefaults.retry, ...given(own.retry) },
    repeatLimits: own.repeatLimits || undefined,
    shorten: (own.shorten ?? summarize()) || undefined,
    telemetry: onlookers(own.telemetry),
    clock: own.clock ?? systemClock,
  }
}

/** Lays what is different for one run over the agent's options. */
export function mergeRunOptions<Context>(
  agent: Omit<LoopOptions<Context>, 'context' | 'planOnly' | 'conversation'>,
  run: RunOptions<Context>,
  op: string,
): Omit<LoopOptions<Context>, 'planOnly'> {
  if (!isObject(run as unknown))
    throw invalidInput(op, `the options of a run must be an object, not ${kindOf(run)}`)
  checkOptions(run, runTable, { op, what: 'the run option' })
  checkChoice(run.toolChoice, agent.tools(), op)
  return {
    ...agent,
    context: run.context as Context,
    settings: run.settings ? mergeSettings(agent.settings, run.settings) : agent.settings,
    toolChoice: run.toolChoice ?? agent.toolChoice,
    maxRounds: run.maxRounds ?? agent.maxRounds,
    runMs: run.runMs ?? agent.runMs,
    conversation: run.conversation,
  }
}

/** A choice of what is not there would only come back as the provider's 400. */
export function checkChoice(choice: ToolChoice | undefined, tools: readonly Tool[], op: string) {
  if (typeof choice === 'object' && !tools.some(({ name }) => name === choice.name))
    throw invalidInput(op, `toolChoice names '${choice.name}', but the agent has no such tool`)
  if (choice === 'required' && tools.length === 0)
    throw invalidInput(op, "toolChoice is 'required', but the agent has no tools")
}
