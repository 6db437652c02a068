import type { Clock, Model, ModelSettings, RunEvent, ToolChoice } from '../protocol/index.ts'
import { invalidInput, isObject, kindOf, systemClock } from '../protocol/index.ts'
import type {
  AfterCall,
  BeforeCall,
  CompiledSchema,
  InferValue,
  RepeatLimits,
  Schema,
  Tool,
} from '../tools/index.ts'
import { closest, compileSchema } from '../tools/index.ts'
import type { PrepareRound } from './request.ts'
import type { RetryOptions } from './retry.ts'

export interface AgentOptions<Context = unknown, Output extends Schema | undefined = Schema | undefined> {
  /** Stands in the events. */
  readonly name?: string
  /** The model, or a list: each next one is tried when those before it have failed. */
  readonly model: Model | readonly Model[]
  readonly system?: string
  readonly tools?: readonly Tool<Context>[]
  /** How many rounds may run tools; there is one more generation than that. */
  readonly maxRounds?: number
  /** The final answer is JSON of this schema, and `result.output` its value. */
  readonly output?: Output
  /** How often the model is asked again for an answer that does not fit `output`. */
  readonly maxCorrections?: number
  readonly settings?: ModelSettings
  readonly toolChoice?: ToolChoice
  readonly retry?: RetryOptions
  /** The longest wait for the model's first event, and between two; for the whole run. `Infinity` for none. */
  readonly firstEventMs?: number
  readonly idleMs?: number
  readonly runMs?: number
  /** The longest a tool may run that sets no `timeoutMs` of its own. */
  readonly toolTimeoutMs?: number
  /** How many calls may run at once. */
  readonly toolConcurrency?: number
  readonly maxCallsPerRound?: number
  /** How much of a tool's result the model is shown. */
  readonly maxResultChars?: number
  /** When a model that repeats itself is told, and when it is refused; `false` lets it. */
  readonly repeats?: RepeatLimits | false
  /** `fail` ends the run at the first call that goes wrong, instead of telling the model. */
  readonly onToolError?: 'continue' | 'fail'
  readonly prepareRound?: PrepareRound<Context>
  readonly beforeCall?: BeforeCall<Context>
  readonly afterCall?: AfterCall<Context>
  /** For tests that own the time. */
  readonly clock?: Clock
}

/** What may be different for one run. */
export interface RunOptions<Context = unknown> {
  /** Handed to every tool and hook. */
  readonly context?: Context
  readonly signal?: AbortSignal
  readonly maxRounds?: number
  readonly settings?: ModelSettings
  readonly toolChoice?: ToolChoice
  readonly runMs?: number
}

/** Everything one run needs, checked and with defaults filled in. */
export interface LoopOptions<Context> {
  readonly agent: string
  readonly models: readonly Model[]
  readonly system: string | undefined
  readonly tools: readonly Tool<Context>[]
  readonly context: Context
  readonly settings: ModelSettings
  readonly toolChoice: ToolChoice | undefined
  readonly output: CompiledSchema | undefined
  readonly maxCorrections: number
  readonly maxRounds: number
  readonly planOnly: boolean
  readonly maxCallsPerRound: number
  readonly toolConcurrency: number
  readonly toolTimeoutMs: number
  readonly maxResultChars: number
  readonly repeats: RepeatLimits | undefined
  readonly onToolError: 'continue' | 'fail'
  readonly retry: RetryOptions
  readonly firstEventMs: number
  readonly idleMs: number
  readonly runMs: number
  readonly prepareRound: PrepareRound<Context> | undefined
  readonly beforeCall: BeforeCall<Context> | undefined
  readonly afterCall: AfterCall<Context> | undefined
  readonly clock: Clock
  /** For the run of a sub-agent: told of each event in the turn in which it happens. */
  readonly relay?: ((event: RunEvent) => void) | undefined
}

/** The value of an agent's answers; `undefined` without an `output` schema. */
export type OutputOf<Output extends Schema | undefined> = Output extends Schema
  ? InferValue<Output>
  : undefined

type Problem = string | false | undefined

/** One line for each option: what is wrong with a value, if anything. Keys that are not here do not exist. */
const agentChecks: Record<keyof AgentOptions, (value: never) => Problem> = {
  name: (value: unknown) => (typeof value !== 'string' || !value) && 'must be a name',
  model: () => undefined,
  system: (value: unknown) => typeof value !== 'string' && `must be a string, not ${kindOf(value)}`,
  tools: (value: unknown) => !Array.isArray(value) && `must be an array of tools, not ${kindOf(value)}`,
  maxRounds: count(0),
  output: () => undefined,
  maxCorrections: count(0),
  settings: object,
  toolChoice: checkToolChoice,
  retry: object,
  firstEventMs: duration,
  idleMs: duration,
  runMs: duration,
  toolTimeoutMs: duration,
  toolConcurrency: count(1),
  maxCallsPerRound: count(1),
  maxResultChars: count(1),
  repeats: (value: unknown) =>
    value !== false &&
    !(isObject(value) && Number(value.warn) >= 2 && Number(value.refuse) >= Number(value.warn)) &&
    'must be false or { warn, refuse } with 2 ≤ warn ≤ refuse',
  onToolError: (value: unknown) => value !== 'continue' && value !== 'fail' && "must be 'continue' or 'fail'",
  prepareRound: callable,
  beforeCall: callable,
  afterCall: callable,
  clock: object,
}

const runChecks: Record<keyof RunOptions, (value: never) => Problem> = {
  context: () => undefined,
  signal: (value: unknown) => !(value instanceof AbortSignal) && 'must be an AbortSignal',
  maxRounds: agentChecks.maxRounds,
  settings: agentChecks.settings,
  toolChoice: agentChecks.toolChoice,
  runMs: agentChecks.runMs,
}

const retryChecks: Record<keyof RetryOptions, (value: never) => Problem> = {
  attempts: count(1),
  baseMs: duration,
  maxDelayMs: duration,
}

/** The settings of an agent with defaults, before those of a run. Throws `invalid_input` naming the option. */
export function checkAgentOptions<Context>(
  options: AgentOptions<Context>,
  op: string,
): Omit<LoopOptions<Context>, 'context' | 'planOnly'> {
  if (!isObject(options as unknown))
    throw invalidInput(op, `agent() takes one object of options, not ${kindOf(options)}`)
  check(options, agentChecks, op, 'the agent option')
  if (options.retry) check(options.retry, retryChecks, op, 'the agent option retry.')
  const models = checkModels(options.model, op)
  const tools = options.tools ?? []
  checkTools(tools, models[0] as Model, op)
  const { toolChoice, repeats } = options
  if (typeof toolChoice === 'object' && !tools.some(({ name }) => name === toolChoice.name))
    throw invalidInput(op, `toolChoice names '${toolChoice.name}', but the agent has no such tool`)
  return {
    agent: options.name ?? 'agent',
    models,
    system: options.system,
    tools,
    settings: options.settings ?? {},
    toolChoice,
    output: options.output && compileSchema(options.output, { op, what: 'output' }),
    maxCorrections: options.maxCorrections ?? 1,
    maxRounds: options.maxRounds ?? 10,
    maxCallsPerRound: options.maxCallsPerRound ?? 32,
    toolConcurrency: options.toolConcurrency ?? 8,
    toolTimeoutMs: options.toolTimeoutMs ?? 300_000,
    maxResultChars: options.maxResultChars ?? 50_000,
    repeats: repeats === false ? undefined : (repeats ?? { warn: 3, refuse: 6 }),
    onToolError: options.onToolError ?? 'continue',
    retry: options.retry ?? {},
    firstEventMs: options.firstEventMs ?? 300_000,
    idleMs: options.idleMs ?? 300_000,
    runMs: options.runMs ?? Number.POSITIVE_INFINITY,
    prepareRound: options.prepareRound,
    beforeCall: options.beforeCall,
    afterCall: options.afterCall,
    clock: options.clock ?? systemClock,
  }
}

/** Lays what is different for one run over the agent's options. */
export function mergeRunOptions<Context>(
  agent: Omit<LoopOptions<Context>, 'context' | 'planOnly'>,
  run: RunOptions<Context>,
  op: string,
): Omit<LoopOptions<Context>, 'planOnly'> {
  if (!isObject(run as unknown))
    throw invalidInput(op, `the options of a run must be an object, not ${kindOf(run)}`)
  check(run, runChecks, op, 'the run option')
  return {
    ...agent,
    context: run.context as Context,
    settings: run.settings ? { ...agent.settings, ...run.settings } : agent.settings,
    toolChoice: run.toolChoice ?? agent.toolChoice,
    maxRounds: run.maxRounds ?? agent.maxRounds,
    runMs: run.runMs ?? agent.runMs,
  }
}

function check(options: object, checks: Record<string, (value: never) => Problem>, op: string, what: string) {
  for (const [key, value] of Object.entries(options)) {
    const checkValue = Object.hasOwn(checks, key) ? checks[key] : undefined
    if (!checkValue) {
      const like = closest(key, Object.keys(checks))
      throw invalidInput(op, `${what} '${key}' does not exist${like ? `: did you mean '${like}'?` : ''}`)
    }
    const problem = value !== undefined && checkValue(value as never)
    if (problem) throw invalidInput(op, `${what} '${key}' ${problem}`)
  }
}

function checkModels(value: unknown, op: string): readonly Model[] {
  const models = Array.isArray(value) ? value : [value]
  if (models.length === 0) throw invalidInput(op, 'the list of models is empty')
  for (const model of models)
    if (!isObject(model) || typeof model.stream !== 'function' || !isObject(model.capabilities))
      throw invalidInput(op, `model must be a Model (with id, capabilities and stream), not ${kindOf(model)}`)
  return models
}

function checkTools(tools: readonly Tool[], model: Model, op: string) {
  const names = new Set<string>()
  for (const tool of tools) {
    if (!isObject(tool) || !isObject(tool.schema))
      throw invalidInput(op, 'tools must be made with tool({ … })')
    if (names.has(tool.name))
      throw invalidInput(op, `two tools are named '${tool.name}': give each its own name`)
    names.add(tool.name)
  }
  if (names.size > 0 && !model.capabilities.tools)
    throw invalidInput(op, `the model '${model.id}' takes no tools: remove them, or use another model`)
}

function count(least: number) {
  return (value: unknown): Problem =>
    !(Number.isInteger(value) && Number(value) >= least) &&
    `must be a whole number of at least ${least}, not ${JSON.stringify(value)}`
}

function duration(value: unknown): Problem {
  return (
    !(typeof value === 'number' && value >= 0) &&
    `must be a number of milliseconds, not ${JSON.stringify(value)}`
  )
}

function object(value: unknown): Problem {
  return !isObject(value) && `must be an object, not ${kindOf(value)}`
}

function callable(value: unknown): Problem {
  return typeof value !== 'function' && `must be a function, not ${kindOf(value)}`
}

function checkToolChoice(value: unknown): Problem {
  if (
    isObject(value) ? typeof value.name === 'string' : ['auto', 'none', 'required'].includes(value as string)
  )
    return undefined
  return "must be 'auto', 'none', 'required' or { name }"
}
