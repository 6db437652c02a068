import type {
  ApprovalRequestEvent,
  JsonObject,
  JsonPart,
  JsonValue,
  RunEvent,
  TextPart,
  ToolCallEvent,
  ToolInputStartEvent,
  ToolResultEvent,
  ToolResultPart,
  ToolStartEvent,
} from '../protocol/index.ts'
import type { Tool, Toolbox, ToolContent } from '../tools/index.ts'

// Carries the types of an agent's tools to the events and results of its runs.

/**
 * The types of tool calls in an agent's runs. These are the untyped defaults, for tools that the
 * compiler does not know.
 */
export interface CallTypes {
  readonly event: RunEvent
  readonly request: ApprovalRequestEvent
  readonly planned: PlannedCall
}

/**
 * The types for a list of tools: `event.name` narrows `event.input` and `event.output`. `Replaced`
 * is what the `afterCall` hook returns. Falls back to `CallTypes` if a name is only known to be a
 * string, or if there is a toolbox, whose tools may change.
 */
export type CallTypesOf<List extends readonly (Tool | Toolbox)[], Replaced> = [List[number]] extends [never]
  ? CallTypes
  : [List[number]] extends [Tool]
    ? string extends List[number]['name']
      ? CallTypes
      : TypedCalls<List[number], Replaced extends { readonly output: infer Output } ? Output : never>
    : CallTypes

interface TypedCalls<Tools extends Tool, Replaced> extends CallTypes {
  readonly event: RunEvent<CallEventOf<Tools | OtherTool, Replaced> | RequestOf<Tools>>
  readonly request: RequestOf<Tools>
  readonly planned: PlannedCallOf<Tools | OtherTool>
}

/** The events of an agent's runs, as in `RunEventOf<typeof desk>`. */
export type RunEventOf<Source extends { stream(...args: never): AsyncIterable<RunEvent> }> =
  ReturnType<Source['stream']> extends AsyncIterable<infer Event> ? Event : never

/**
 * A tool that the agent does not have: models invent names. The enum stands for any such name. With
 * `string` or a branded string instead, the compiler could not rule this tool out after
 * `event.name === 'lookup_order'`.
 */
type OtherTool = Tool<unknown, OtherName>
declare enum OtherName {
  any = 'the name of another tool',
}

type CallEventOf<One extends Tool, Replaced> = One extends Tool
  ?
      | ToolInputStartEvent<One['name']>
      | ToolCallEvent<One['name'], InputOf<One>>
      | ToolStartEvent<One['name'], InputOf<One>>
      | ToolResultEvent<One['name'], PartOf<OutputOf<One> | Replaced>>
  : never

/** A sub-agent also requests approval for its own tools, whose names are not known here. */
type RequestOf<Tools extends Tool> = [Extract<Tools, AgentTool>] extends [never]
  ? ToolRequestOf<Tools | OtherTool>
  : ApprovalRequestEvent

type ToolRequestOf<One extends Tool> = One extends Tool
  ? ApprovalRequestEvent<One['name'], InputOf<One>>
  : never

/** An agent as a tool. */
// biome-ignore lint/suspicious/noExplicitAny: as with a bare `Tool`
export interface AgentTool<Context = any, Name extends string = string, Output = unknown>
  extends Tool<Context, Name, { prompt: string }, Promise<Output>> {
  readonly notices: NonNullable<Toolbox['notices']>
}

/** A tool call of a plan, which was not run. */
export interface PlannedCall<Name extends string = string, Input = JsonObject> {
  readonly callId: string
  readonly name: Name
  readonly input: Input
  /** The call would need approval first. */
  readonly needsApproval: boolean
  /** Why the call could not run. */
  readonly problem?: string
}

/** The input is only checked if there is no `problem`. */
type PlannedCallOf<One extends Tool> = One extends Tool
  ?
      | (PlannedCall<One['name'], InputOf<One>> & { readonly problem?: undefined })
      | (PlannedCall<One['name']> & { readonly problem: string })
  : never

type InputOf<One extends Tool> =
  JsonOf<NonNullable<One['types']>['input']> extends infer Input extends JsonObject ? Input : JsonObject

/** What the tool returns; for a generator, its return value. */
type OutputOf<One extends Tool> =
  NonNullable<One['run']> extends (...args: never) => infer Result ? Returned<Awaited<Result>> : never
type Returned<Result> = Result extends Generator<unknown, infer Value> | AsyncGenerator<unknown, infer Value>
  ? Awaited<Value>
  : Result

/**
 * A result in its event: text as text, `toolContent()` as any parts, everything else as JSON, or as
 * text if it was truncated.
 */
type PartOf<Value> = unknown extends Value
  ? ToolResultPart
  : [Extract<Value, ToolContent>] extends [never]
    ? TextPart | JsonPartOf<Exclude<Value, string>>
    : ToolResultPart

type JsonPartOf<Value> = [JsonOf<Value>] extends [never]
  ? never
  : JsonOf<Value> extends infer Json extends JsonValue
    ? JsonPart<Json>
    : JsonPart

/** A value after a round trip through JSON: a date becomes a string, and functions are dropped. */
type JsonOf<Value> = unknown extends Value
  ? JsonValue
  : Value extends JsonValue
    ? Value
    : Value extends { toJSON(): infer Json }
      ? JsonOf<Json>
      : Value extends LeftOut
        ? never
        : Value extends readonly unknown[]
          ? { [Index in keyof Value]: JsonOf<Value[Index]> | IfLeftOut<Value[Index], null, never> }
          : Value extends object
            ? JsonObjectOf<Value>
            : never

/** Fields that JSON may drop are optional. */
type JsonObjectOf<Value> = {
  [Key in keyof Value as IfLeftOut<Value[Key], never, Key>]: JsonOf<Value[Key]>
} & { [Key in keyof Value as IfLeftOut<Value[Key], Key, never>]?: JsonOf<Value[Key]> } extends infer All
  ? { [Key in keyof All]: All[Key] }
  : never

type LeftOut = undefined | symbol | ((...args: never) => unknown)
type IfLeftOut<Value, Yes, No> = [Extract<Value, LeftOut>] extends [never] ? No : Yes
