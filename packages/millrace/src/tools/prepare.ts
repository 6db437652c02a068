import type { CallStatus, JsonObject, ToolCallEvent } from '../protocol/index.ts'
import { closest, isObject, messageOf, toJson } from '../protocol/index.ts'
import { andThen, isThenable } from './and-then.ts'
import type { Tool } from './tool.ts'

/** A call as a hook sees it. */
export interface HookCall<Context = unknown> {
  readonly callId: string
  readonly runId: string
  readonly name: string
  readonly input: JsonObject
  readonly context: Context
}

/** `block` answers the call with a reason instead of running it; `input` replaces what the model wrote, and is checked like it. */
export type BeforeCall<Context = unknown> = (
  call: HookCall<Context>,
) => Verdict | undefined | void | Promise<Verdict | undefined | void>

export type Verdict = { readonly block: string } | { readonly input: object }

/** Ready to run with `value`, which came out of the tool's schema; or not to be run, and why. */
export type Prepared =
  | { readonly type: 'ready'; readonly tool: Tool; readonly input: JsonObject; readonly value: unknown }
  | { readonly type: 'refused'; readonly reason: string; readonly status: CallStatus }

/**
 * Everything between a closed call and the decision whether it may run. Never rejects, and is synchronous where schema and
 * hook are: a tool then starts in the very turn in which its call closed.
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
  return andThen(checkInput(tool, input), (prepared) => {
    if (prepared.type === 'refused' || !beforeCall) return prepared
    return askHook(
      () => beforeCall({ callId, runId, name, input: structuredClone(input), context }),
      prepared,
    )
  })
}

/** Holds input against the tool's schema. What the tool gets is its own to change: the log keeps what was written. */
export function checkInput(tool: Tool, input: JsonObject): Prepared | Promise<Prepared> {
  // A copy through JSON takes a fraction of the time of `structuredClone`.
  return andThen(tool.schema.check(toJson(input)), (checked): Prepared => {
    if (!checked.issues) return { type: 'ready', tool, input, value: checked.value }
    const list = checked.issues.slice(0, 20).map((issue) => `- ${issue}`)
    return reject(
      `Not run: the arguments do not fit the schema of '${tool.name}'. Correct them and call it again.\n${list.join('\n')}`,
    )
  })
}

function askHook(
  hook: () => ReturnType<BeforeCall>,
  prepared: Extract<Prepared, { type: 'ready' }>,
): Prepared | Promise<Prepared> {
  try {
    const answered = andThen(hook(), (verdict): Prepared | Promise<Prepared> => {
      if (!verdict) return prepared
      if ('block' in verdict && typeof verdict.block === 'string')
        return { type: 'refused', reason: `Not run: ${verdict.block}`, status: 'blocked' }
      if ('input' in verdict && isObject(verdict.input))
        return checkInput(prepared.tool, toJson(verdict.input) as JsonObject)
      throw new TypeError('it must answer { block: reason }, { input } or nothing')
    })
    return isThenable(answered) ? answered.catch(brokenHook) : answered
  } catch (error) {
    return brokenHook(error)
  }
}

/** Fail closed: a hook that guards something must not let a call through by breaking. */
function brokenHook(error: unknown): Prepared {
  const reason = `Not run: the check before this call failed (${messageOf(error)}).`
  return { type: 'refused', reason, status: 'failed' }
}

function reject(reason: string): Prepared {
  return { type: 'refused', reason, status: 'rejected' }
}

function unknownTool(name: string, names: readonly string[]): string {
  if (names.length === 0) return `There is no tool named '${name}', nor any other: answer without tools.`
  const like = closest(name, names)
  const suggestion = like ? ` Did you mean '${like}'?` : ''
  return `There is no tool named '${name}'.${suggestion} Available: ${names.slice(0, 50).join(', ')}.`
}
