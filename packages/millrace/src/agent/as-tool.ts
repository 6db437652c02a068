import type { ApprovalEvent, JsonObject, RunEvent } from '../protocol/index.ts'
import { foldLog, limitText, MillraceError, openRequests } from '../protocol/index.ts'
import type { Schema, Tool, ToolContext, ToolOptions } from '../tools/index.ts'
import { nestedRunOf, pending, tool } from '../tools/index.ts'
import type { Run } from './run.ts'

/** The tool options that apply to an agent. */
export interface AsToolOptions<Name extends string = string>
  extends Pick<
    ToolOptions<Schema, unknown>,
    'description' | 'timeoutMs' | 'exclusive' | 'approve' | 'maxResultChars'
  > {
  /** Defaults to the agent's name. */
  readonly name?: Name | undefined
}

const promptSchema = {
  jsonSchema: {
    type: 'object',
    properties: {
      prompt: { type: 'string', description: 'The task, with all the information needed to complete it' },
    },
    required: ['prompt'],
    additionalProperties: false,
  } as JsonObject,
  validate: (value: unknown) => {
    const prompt = (value as { prompt?: unknown }).prompt
    return typeof prompt === 'string' && prompt.trim()
      ? { value: { prompt } }
      : { issues: [{ message: 'expected a description of the task', path: ['prompt'] }] }
  },
} satisfies Schema

/** Starts or resumes a run of the agent behind the tool. */
interface RunStarter<Context> {
  start(prompt: string, context: ToolContext<Context>): Run<unknown>
  resume(
    events: readonly RunEvent[],
    decisions: readonly ApprovalEvent[],
    context: ToolContext<Context>,
  ): Run<unknown>
}

/**
 * A tool that delegates its task to an agent. The agent's events become progress of the call, and
 * its answer becomes the result. The parent's log therefore contains the nested run's whole log, so
 * the nested run can resume from it without repeating anything.
 */
export function agentTool<Context>(
  { start, resume }: RunStarter<Context>,
  { name, ...options }: AsToolOptions & { name: string },
): Tool<Context> {
  return tool({
    timeoutMs: Number.POSITIVE_INFINITY,
    ...options,
    name,
    input: promptSchema,
    repeat: 'safe',
    // The nested run checks the accesses of its own tool calls.
    access: () => [],
    run: async ({ prompt }, context: ToolContext<Context>) => {
      const { resumed } = nestedRunOf(context)
      const last = resumed?.events.at(-1)
      const ended = last?.type === 'run-end' ? last : undefined
      // The parent's process may have died after the nested run ended, before it recorded the
      // result.
      if (ended?.error) throw MillraceError.fromJSON(ended.error)
      if (resumed && ended?.outcome === 'suspended' && resumed.decisions.length === 0)
        return pending(openRequests(foldLog(resumed.events)))
      const finished = ended && ended.outcome !== 'suspended'
      const run = resumed
        ? resume(finished ? resumed.events.slice(0, -1) : resumed.events, resumed.decisions, context)
        : start(prompt, context)
      const { outcome, output, text, approvals, error, limit } = await run.result
      if (outcome === 'suspended') return pending(approvals)
      if (error) throw error
      if (outcome !== 'completed')
        throw new Error(
          `the agent '${name}' did not finish (${limit ? limitText(limit) : outcome})${text && `; partial answer: ${text}`}`,
        )
      return output === undefined ? text : output
    },
  })
}
