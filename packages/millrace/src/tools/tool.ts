import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonObject, OptionTable, ToolSpec } from '../protocol/index.ts'
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

/** What a running tool is given beside its input. */
export interface ToolContext<Context = unknown> {
  /** Aborted when the run is cancelled or the call's time is up; nobody waits for the tool after that. */
  readonly signal: AbortSignal
  /** Aborted only when the whole run is cancelled or fails: for what a call leaves running behind it. */
  readonly runSignal: AbortSignal
  readonly callId: string
  readonly runId: string
  /** The same for every attempt at this call, also in another process: hand it to whatever must not happen twice. */
  readonly idempotencyKey: string
  /** 1, or more when a call in flight at a crash is run again. */
  readonly attempt: number
  /** Tells listeners how far it is. The data must be JSON. */
  progress(data: unknown): void
  /** Resolves when all progress so far would survive a crash: in a thread when it is durable, else at once. */
  commit(): Promise<void>
  /**
   * Asks the agent's rules again, of what the call turns out to touch: a link that leads elsewhere, a redirect. Resolves to
   * the reason why not, for the model; undefined if it may, as it always may where there are no rules.
   */
  permits(access: Access): Promise<string | undefined>
  /** What the caller of `agent.stream(input, { context })` passed in. */
  readonly context: Context
}

/** The input while it is still being written: any part may be missing, strings may be unfinished. */
export type Partially<T> = T extends readonly (infer Item)[]
  ? Partially<Item>[]
  : T extends object
    ? { [Key in keyof T]?: Partially<T[Key]> }
    : T

type Asks = boolean | string | undefined

/** `true` or a reason asks a person first; `false` or nothing does not. */
type Approve<Input, Context> = (
  input: Input,
  context: { readonly callId: string; readonly context: Context },
) => Asks | Promise<Asks>

export interface ToolOptions<S extends Schema, Context, Name extends string = string, Output = unknown> {
  /** Letters, digits, `_` and `-`, at most 64. */
  readonly name: Name
  /** What it does and when to use it, for the model. */
  readonly description: string
  readonly input: S
  /**
   * Does the work. Returns text, JSON or `toolContent(…)`; what it throws is told to the model. As an async generator it
   * yields progress and returns its result.
   */
  readonly run: (input: InferValue<S>, context: ToolContext<Context>) => Output
  /** How long it may run; the agent's `toolTimeoutMs` if absent, no limit if `Infinity`. */
  readonly timeoutMs?: number | undefined
  /** Never beside another call of the same run. */
  readonly exclusive?: boolean | undefined
  /** `safe`: a call in flight at a crash may simply be run again. Otherwise the model is told that its fate is unknown. */
  readonly repeat?: 'safe' | 'never' | undefined
  /** Asks a person before it runs: the run ends as `suspended` and is resumed with the decision. */
  readonly approve?: boolean | Approve<InferValue<S>, Context> | undefined
  /**
   * Called while the arguments arrive, with a live view of what is known (copy it to keep it) and the piece that is new. Must not
   * block. Looking inside a long string of the view makes V8 copy it each time; the `delta` costs nothing.
   */
  readonly onInput?:
    | ((
        partial: Partially<InferInput<S>>,
        context: { readonly callId: string; readonly delta: string },
      ) => void)
    | undefined
  /** Asks the provider to hold the model to the schema. Not every provider can, nor does every schema fit. */
  readonly strict?: boolean | undefined
  /** How much of the result the model is shown; the agent's `maxResultChars` if absent. */
  readonly maxResultChars?: number | undefined
  /** Being called again and again with the same result is what this tool is for. */
  readonly polling?: boolean | undefined
  /**
   * What a call with this input would touch, for the agent's rules; `[]` for nothing. Only a rule for the whole tool can let it
   * pass if absent.
   */
  readonly access?: ((input: InferValue<S>) => readonly Access[] | Promise<readonly Access[]>) | undefined
}

/**
 * A tool as an agent uses it. Made by `tool()`; nothing in it changes. `Input` is what its schema takes, `Output` what `run`
 * returns: with a literal `Name` the events of an agent are typed by them.
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
  /** Of a tool that others describe, and may describe differently another time: what people allow is allowed for this one. */
  readonly fingerprint?: string
  /** As of a toolbox: what people should know of the tools of an agent behind it. */
  readonly notices?: Toolbox['notices']
  // A property, not a method: the context must be checked contravariantly, so that an agent asks its caller for it.
  readonly run: (input: never, context: ToolContext<Context>) => Output
  /** For the compiler alone: never there at run time. */
  readonly types?: { readonly input: Input }
}

/** Tools that belong together, and may come and go: an agent asks before each round which there are. */
// biome-ignore lint/suspicious/noExplicitAny: as with a bare `Tool[]`
export interface Toolbox<Context = any> {
  readonly tools: readonly Tool<Context>[]
  /** What people should know of these tools on this machine, in whole sentences. Rejects if they refuse to work on it. */
  readonly notices?: () => Promise<readonly string[]>
}

/** What `approve` said, read the same way everywhere. */
export function asksPerson(verdict: Asks): boolean {
  return verdict !== false && verdict !== undefined
}

/** Defines a tool. Throws `invalid_input` if the definition cannot be used. */
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
    strict,
  } = options
  const fail = (problem: string): never => {
    throw invalidInput(op, `tool ${JSON.stringify(name)}: ${problem}`)
  }
  if (typeof name !== 'string' || !/^[\w-]{1,64}$/.test(name))
    fail('its name must be 1 to 64 letters, digits, _ or -, as every provider accepts')
  // First what is misspelt: it may well be the `run` or the `description` that is missing below.
  checkOptions(options, toolTable, { op, what: `tool ${JSON.stringify(name)}: the option` })
  if (typeof description !== 'string' || !description.trim())
    fail('it needs a description: the model chooses by it')
  if (typeof run !== 'function') fail(`run must be a function, not ${kindOf(run)}`)

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
    repeat: repeat ?? 'never',
    approve: typeof approve === 'function' ? (approve as Tool<Context>['approve']) : () => approve ?? false,
    onInput: onInput as Tool['onInput'],
    maxResultChars,
    polling: polling ?? false,
    access: access as Tool['access'],
  }
}

const toolTable: OptionTable<ToolOptions<Schema, unknown>> = {
  name: anything,
  description: anything,
  input: anything,
  run: anything,
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
  strict: yesOrNo,
}

/** Every provider wants an object at the top; a schema that leaves the type out means one. */
function asObjectSchema(jsonSchema: JsonObject, fail: (problem: string) => never): JsonObject {
  const { type } = jsonSchema
  if (type === 'object') return jsonSchema
  const combined = ['anyOf', 'oneOf', 'allOf', '$ref', 'enum', 'const', 'not'].find(
    (keyword) => keyword in jsonSchema,
  )
  if (type === undefined && !combined) return { type: 'object', ...jsonSchema }
  const found = type === undefined ? `'${combined}'` : `type ${JSON.stringify(type)}`
  return fail(`its input must be an object at the top, not ${found}: wrap it, as in { value: … }`)
}
