import type { ApprovalEvent, JsonObject, RunEvent } from '../protocol/index.ts'
import { foldLog, MillraceError, openRequests } from '../protocol/index.ts'
import type { Schema, Tool, ToolContext, ToolOptions } from '../tools/index.ts'
import { nestedRunOf, pending, tool } from '../tools/index.ts'
import type { Run } from './run.ts'

/** Of a tool's options, those that make sense for an agent. */
export interface AsToolOptions<Name extends string = string>
  extends Pick<
    ToolOptions<Schema, unknown>,
    'description' | 'timeoutMs' | 'exclusive' | 'approve' | 'maxResultChars'
  > {
  /** The agent's name if absent. */
  readonly name?: Name | undefined
}

const promptSchema = {
  jsonSchema: {
    type: 'object',
    properties: { prompt: { type: 'string', description: 'The task, with everything needed to do it' } },
    required: ['prompt'],
    additionalProperties: false,
  } as JsonObject,
  validate: (value: unknown) => {
    const prompt = (value as { prompt?: unknown }).prompt
    return typeof prompt === 'string' && prompt.trim()
      ? { value: { prompt } }
      : { issues: [{ message: 'expected text that says what to do', path: ['prompt'] }] }
  },
} satisfies Schema

/** How the agent behind a tool is set going. */
interface Starter<Context> {
  start(prompt: string, context: ToolContext<Context>): Run<unknown>
  resume(
    events: readonly RunEvent[],
    decisions: readonly ApprovalEvent[],
    context: ToolContext<Context>,
  ): Run<unknown>
}

/**
 * A tool that hands its task to an agent. The agent's events appear as progress of the call, its answer as the result; so its
 * whole log stands in the caller's, and it can go on from there without repeating anything.
 */
export function agentTool<Context>(
  { start, resume }: Starter<Context>,
  { name, ...options }: AsToolOptions & { name: string },
): Tool<Context> {
  return tool({
    timeoutMs: Number.POSITIVE_INFINITY,
    ...options,
    name,
    input: promptSchema,
    repeat: 'safe',
    // What it does is judged where it does it.
    access: () => [],
    run: async ({ prompt }, context: ToolContext<Context>) => {
      const { resumed } = nestedRunOf(context)
      const last = resumed?.events.at(-1)
      const ended = last?.type === 'run-end' ? last : undefined
      // The caller's process may have died between what the agent said last and what was made of it.
      if (ended?.error) throw MillraceError.fromJSON(ended.error)
      if (resumed && ended?.outcome === 'suspended' && resumed.decisions.length === 0)
        return pending(openRequests(foldLog(resumed.events)))
      const finished = ended && ended.outcome !== 'suspended'
      const run = resumed
        ? resume(finished ? resumed.events.slice(0, -1) : resumed.events, resumed.decisions, context)
        : start(prompt, context)
      const { outcome, output, text, approvals, error } = await run.result
      if (outcome === 'suspended') return pending(approvals)
      if (error) throw error
      if (outcome !== 'completed')
        throw new Error(
          `the agent '${name}' did not finish (${outcome})${text && `; it got as far as: ${text}`}`,
        )
      return output === undefined ? text : output
    },
  })
}
