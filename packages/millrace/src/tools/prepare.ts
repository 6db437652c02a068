import type { CallStatus, JsonObject, ToolCallEvent } from '../protocol/index.ts'
import { closest, isObject, messageOf, toJson } from '../protocol/index.ts'
import { isThenable, mapMaybeAsync } from './map-maybe-async.ts'
import type { Tool } from './tool.ts'

/** A tool call as passed to a hook. */
export interface HookCall<Context = unknown> {
  readonly callId: string
  readonly runId: string
  readonly name: string
  readonly input: JsonObject
  readonly context: Context
}

/**
 * `block` rejects the call with a reason; `input` replaces the model's input and is checked the
 * same way.
 */
export type BeforeCall<Context = unknown> = (
  call: HookCall<Context>,
) => BeforeCallResult | undefined | void | Promise<BeforeCallResult | undefined | void>

export type BeforeCallResult = { readonly block: string } | { readonly input: object }

/** Ready to run with `value`, the output of the tool's schema, or rejected with a reason. */
export type Prepared =
  | { readonly type: 'ready'; readonly tool: Tool; readonly input: JsonObject; readonly value: unknown }
  | { readonly type: 'rejected'; readonly reason: string; readonly status: CallStatus }

/**
 * Validates a closed call and runs the `beforeCall` hook. Never rejects, and is synchronous if
 * schema and hook are: the tool then starts in the same turn in which its call closed.
 */
export function prepareCall<Context>(
  call: ToolCallEvent,
  {
    tools,
    beforeCall,
    runId,
    context,
  }: {
    tools: ReadonlyMap<string, Tool>
    beforeCall: BeforeCall<Context> | undefined
    runId: string
    context: Context
  },
): Prepared | Promise<Prepared> {
  const { callId, name, input } = call
  if (call.problem !== undefined)
    return reject(
      `Not run: ${call.problem}. Call the tool again with complete arguments, as one JSON object.`,
    )
  const tool = tools.get(name)
  if (!tool) return reject(unknownTool(name, [...tools.keys()]))
  return mapMaybeAsync(checkInput(tool, input), (prepared) => {
    if (prepared.type === 'rejected' || !beforeCall) return prepared
    return runBeforeCall(
      () => beforeCall({ callId, runId, name, input: structuredClone(input), context }),
      prepared,
    )
  })
}

/**
 * Checks input against the tool's schema. The tool gets a copy that it may change; the log keeps
 * the original.
 */
export function checkInput(tool: Tool, input: JsonObject): Prepared | Promise<Prepared> {
  // A copy through JSON takes a fraction of the time of `structuredClone`.
  return mapMaybeAsync(tool.schema.check(toJson(input)), (checked): Prepared => {
    if (!checked.issues) return { type: 'ready', tool, input, value: checked.value }
    const list = checked.issues.slice(0, 20).map((issue) => `- ${issue}`)
    return reject(
      `Not run: the arguments do not match the schema of '${tool.name}'. Correct them and call it again.\n${list.join('\n')}`,
    )
  })
}

function runBeforeCall(
  hook: () => ReturnType<BeforeCall>,
  prepared: Extract<Prepared, { type: 'ready' }>,
): Prepared | Promise<Prepared> {
  try {
    const outcome = mapMaybeAsync(hook(), (result): Prepared | Promise<Prepared> => {
      if (!result) return prepared
      if ('block' in result && typeof result.block === 'string')
        return { type: 'rejected', reason: `Not run: ${result.block}`, status: 'blocked' }
      if ('input' in result && isObject(result.input))
        return checkInput(prepared.tool, toJson(result.input) as JsonObject)
      throw new TypeError('it must return { block: reason }, { input } or nothing')
    })
    return isThenable(outcome) ? outcome.catch(hookFailed) : outcome
  } catch (error) {
    return hookFailed(error)
  }
}

/** Fails closed: a hook that fails must not let the call run. */
function hookFailed(error: unknown): Prepared {
  const reason = `Not run: the check before this call failed (${messageOf(error)}).`
  return { type: 'rejected', reason, status: 'failed' }
}

function reject(reason: string): Prepared {
  return { type: 'rejected', reason, status: 'rejected' }
}

function unknownTool(name: string, names: readonly string[]): string {
  if (names.length === 0)
    return `There is no tool named '${name}', and no other tools are available. Answer without tools.`
  const similar = closest(name, names)
  const suggestion = similar ? ` Did you mean '${similar}'?` : ''
  return `There is no tool named '${name}'.${suggestion} Available: ${names.slice(0, 50).join(', ')}.`
}
