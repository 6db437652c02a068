import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { CallDisplay, JsonObject, OptionTable, ToolSpec } from '../protocol/index.ts'
import {
  aFunction,
  anything,
  checkOptions,
  duration,
  invalidInput,
  isObject,
  kindOf,
  oneOf,
  wholeNumber,
  yesOrNo,
} from '../protocol/index.ts'
import type { Access } from './policy.ts'
import type { CompiledSchema, InferInput, InferValue, JsonSchema, Schema } from './schema.ts'
import { compileSchema } from './schema.ts'

/** Passed to a running tool along with its input. */
export interface ToolContext<Context = unknown> {
  /** Aborted when the run is canceled or the call times out; the result is ignored after that. */
  readonly signal: AbortSignal
  /**
   * Aborted only when the whole run is canceled or fails: for background work that outlives the
   * call.
   */
  readonly runSignal: AbortSignal
  readonly callId: string
  readonly runId: string
  /**
   * The same for every attempt at this call, also in another process. Use it for operations that
   * must not happen twice.
   */
  readonly idempotencyKey: string
  /** 1, or more if a call was in flight during a crash and runs again. */
  readonly attempt: number
  /** Reports progress. The data must be JSON. */
  progress(data: unknown): void
  /**
   * A copy of the metadata of the thread, as it is now. Outside of a thread, it starts as the run
   * option `metadata`. A sub-agent has that of the run that called it.
   */
  metadata(): JsonObject
  /**
   * Changes the metadata by a JSON merge patch (RFC 7396): fields that are null are removed. Clients
   * see the change as they see progress. Throws `invalid_input` if the patch is not an object, if
   * the metadata would become too long, or if the call has ended.
   */
  updateMetadata(patch: JsonObject): void
  /**
   * Reports what the call costs, such as the price of a paid API. Amounts add up, and the call's
   * result has their sum, also if the call fails, times out or is canceled. What a call reports
   * after that is ignored. If the process crashes, what the attempt had reported is lost: a call that
   * runs again reports only what it pays itself. Throws `invalid_input` unless `usd` is a finite
   * number of at least 0.
   */
  spend(cost: { readonly usd: number }): void
  /** Resolves when all progress and changes so far are durable; outside of a thread, at once. */
  commit(): Promise<void>
  /**
   * Checks the agent's rules for an access that the call discovers, such as the target of a link or
   * a redirect. Resolves to the reason for the model if it is not allowed, and to undefined if it
   * is allowed or there are no rules.
   */
  checkAccess(access: Access): Promise<string | undefined>
  /** The context from `agent.stream(input, { context })`. */
  readonly context: Context
}

/** A value that is still being generated: any part may be missing, strings may be unfinished. */
export type DeepPartial<T> = T extends readonly (infer Item)[]
  ? DeepPartial<Item>[]
  : T extends object
    ? { [Key in keyof T]?: DeepPartial<T[Key]> }
    : T

type ApproveResult = boolean | string | undefined

/** Returns `true` or a reason to require approval; `false` or undefined otherwise. */
type Approve<Input, Context> = (
  input: Input,
  context: { readonly callId: string; readonly context: Context },
) => ApproveResult | Promise<ApproveResult>

export interface ToolOptions<S extends Schema, Context, Name extends string = string, Output = unknown> {
  /** Letters, digits, `_` and `-`, at most 64. */
  readonly name: Name
  /** What it does and when to use it, for the model. */
  readonly description: string
  readonly input: S
  /**
   * Does the work. Returns text, JSON or `toolContent(…)`. The model reads the message of an error
   * it throws. An async generator yields progress and returns its result. Without it, a client runs
   * the tool: the run ends as `suspended` and is resumed with the result.
   */
  readonly run?: ((input: InferValue<S>, context: ToolContext<Context>) => Output) | undefined
  /** Timeout of a call. Defaults to the agent's `toolTimeoutMs`; `Infinity` for none. */
  readonly timeoutMs?: number | undefined
  /** Never runs at the same time as another call of the same run. */
  readonly exclusive?: boolean | undefined
  /**
   * `safe`: a call that was in flight during a crash may run again. Otherwise its result says that
   * the outcome is unknown.
   */
  readonly repeat?: 'safe' | 'never' | undefined
  /**
   * Requires approval before the call runs: the run ends as `suspended` and is resumed with the
   * decision.
   */
  readonly approve?: boolean | Approve<InferValue<S>, Context> | undefined
  /**
   * Called while the arguments stream, with a live object of the input so far (copy it to keep it)
   * and the new `delta`. Must not block. Reading inside a long string of the object makes V8 copy
   * the string each time; reading `delta` costs nothing.
   */
  readonly onInput?:
    | ((
        partial: DeepPartial<InferInput<S>>,
        context: { readonly callId: string; readonly delta: string },
      ) => void)
    | undefined
  /**
   * Asks the provider to enforce the schema. Not every provider can, and not every schema is
   * supported.
   */
  readonly strict?: boolean | undefined
  /** How much of the result the model reads. Defaults to the agent's `maxResultChars`. */
  readonly maxResultChars?: number | undefined
  /** The tool is meant to be called repeatedly, so repeat limits do not apply. */
  readonly polling?: boolean | undefined
  /**
   * What a call with this input would touch, for the agent's rules; `[]` for nothing. If absent,
   * only a rule for the whole tool can allow it.
   */
  readonly access?: ((input: InferValue<S>) => readonly Access[] | Promise<readonly Access[]>) | undefined
  /**
   * How user interfaces show a call with this input, also while it waits for approval. It is part of
   * the log. `context.progress({ display })` changes it later. If it throws, the call has none.
   */
  readonly display?: ((input: InferValue<S>) => CallDisplay) | undefined
}

/**
 * A tool for an agent. Created by `tool()`; immutable. `Input` is the input type of its schema,
 * `Output` what `run` returns. With a literal `Name`, they type the events of an agent.
 */
// biome-ignore lint/suspicious/noExplicitAny: a bare `Tool[]` must neither ask for a context nor forbid one
export interface Tool<Context = any, Name extends string = string, Input = unknown, Output = unknown>
  extends ToolSpec {
  readonly name: Name
  readonly schema: CompiledSchema
  readonly timeoutMs: number | undefined
  readonly exclusive: boolean
  readonly repeat: 'safe' | 'never'
  readonly approve: (
    input: unknown,
    context: { callId: string; context: Context },
  ) => ReturnType<Approve<unknown, unknown>>
  readonly onInput: ((partial: never, context: { callId: string; delta: string }) => unknown) | undefined
  readonly maxResultChars: number | undefined
  readonly polling: boolean
  readonly access: ((input: never) => readonly Access[] | Promise<readonly Access[]>) | undefined
  readonly display?: ((input: never) => CallDisplay) | undefined
  /**
   * Identifies the description of a remote tool, which may change. Approvals apply only to this
   * fingerprint.
   */
  readonly fingerprint?: string
  /** For an agent as a tool: the notices of the agent's own tools. */
  readonly notices?: Toolbox['notices']
  // A property, not a method: the context must be checked contravariantly, so that an agent asks
  // its caller for it.
  readonly run: ((input: never, context: ToolContext<Context>) => Output) | undefined
  /** For the compiler only; never set at run time. */
  readonly types?: { readonly input: Input }
}

/** A group of tools that may change: an agent reads the list before each round. */
// biome-ignore lint/suspicious/noExplicitAny: as with a bare `Tool[]`
export interface Toolbox<Context = any> {
  readonly tools: readonly Tool<Context>[]
  /**
   * What users should know about these tools on this machine, in full sentences. Rejects if the
   * tools cannot work on it.
   */
  readonly notices?: () => Promise<readonly string[]>
}

export function needsApproval(result: ApproveResult): boolean {
  return result !== false && result !== undefined
}

/** Defines a tool. Throws `invalid_input` if the definition is invalid. */
export function tool<
  S extends StandardSchemaV1 | JsonSchema<unknown>,
  Context = unknown,
  const Name extends string = string,
  Output = unknown,
>(options: ToolOptions<S, Context, Name, Output>): Tool<Context, Name, InferInput<S>, Output> {
  const op = 'tool'
  if (!isObject(options as unknown))
    throw invalidInput(op, `tool() takes one object of options, not ${kindOf(options)}`)
  const {
    name,
    description,
    input,
    run,
    timeoutMs,
    exclusive,
    repeat,
    approve,
    onInput,
    maxResultChars,
    polling,
    access,
    display,
    strict,
  } = options
  const fail = (problem: string): never => {
    throw invalidInput(op, `tool ${JSON.stringify(name)}: ${problem}`)
  }
  if (typeof name !== 'string' || !/^[\w-]{1,64}$/.test(name))
    fail('its name must be 1 to 64 letters, digits, _ or -, which all providers accept')
  // Check for misspelled options first: one may be the `run` or `description` that is missing
  // below.
  checkOptions(options, toolTable, { op, what: `tool ${JSON.stringify(name)}: the option` })
  if (typeof description !== 'string' || !description.trim())
    fail('it needs a description: the model uses it to choose a tool')

  const schema = compileSchema(input, { op, what: `the input of tool '${name}'` })
  return {
    name,
    description,
    inputSchema: asObjectSchema(schema.jsonSchema, fail),
    ...(strict !== undefined && { strict }),
    schema,
    run: run as Tool<Context, Name, unknown, Output>['run'],
    timeoutMs,
    exclusive: exclusive ?? false,
    // Asking a client again for a result that it has not sent yet does no harm.
    repeat: run ? (repeat ?? 'never') : 'safe',
    approve: typeof approve === 'function' ? (approve as Tool<Context>['approve']) : () => approve ?? false,
    onInput: onInput as Tool['onInput'],
    maxResultChars,
    polling: polling ?? false,
    access: access as Tool['access'],
    ...(display && { display }),
  }
}

const toolTable: OptionTable<ToolOptions<Schema, unknown>> = {
  name: anything,
  description: anything,
  input: anything,
  run: aFunction,
  timeoutMs: duration,
  exclusive: yesOrNo,
  repeat: oneOf('safe', 'never'),
  approve: (value) =>
    typeof value !== 'boolean' &&
    typeof value !== 'function' &&
    'must be true, false or a function of the input',
  onInput: aFunction,
  maxResultChars: wholeNumber(1),
  polling: yesOrNo,
  access: aFunction,
  display: aFunction,
  strict: yesOrNo,
}

/**
 * Every provider requires an object at the top level; a schema without a type is treated as one.
 */
function asObjectSchema(jsonSchema: JsonObject, fail: (problem: string) => never): JsonObject {
  const { type } = jsonSchema
  if (type === 'object') return jsonSchema
  const combined = ['anyOf', 'oneOf', 'allOf', '$ref', 'enum', 'const', 'not'].find(
    (keyword) => keyword in jsonSchema,
  )
  if (type === undefined && !combined) return { type: 'object', ...jsonSchema }
  const found = type === undefined ? `'${combined}'` : `type ${JSON.stringify(type)}`
  return fail(`its input must be an object at the top level, not ${found}: wrap it, as in { value: … }`)
}
