import type { JsonObject } from '../protocol/index.ts'
import type { Schema, Tool, ToolContext } from '../tools/index.ts'
import { pending, tool } from '../tools/index.ts'
import type { Run } from './run.ts'

export interface AsToolOptions {
  /** The agent's name if absent. */
  readonly name?: string
  /** What the sub-agent is good for, for the model that calls it. */
  readonly description: string
  readonly timeoutMs?: number
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

/** A tool that hands its task to an agent. The agent's events appear as progress of the call, its answer as the result. */
export function agentTool<Context>(
  start: (prompt: string, context: ToolContext<Context>) => Run<unknown>,
  { name, description, timeoutMs }: AsToolOptions & { name: string },
): Tool<Context> {
  return tool({
    name,
    description,
    input: promptSchema,
    timeoutMs: timeoutMs ?? Number.POSITIVE_INFINITY,
    // Its own log stands in the caller's, so it goes on from there and repeats nothing.
    repeat: 'safe',
    run: async ({ prompt }, context: ToolContext<Context>) => {
      const { outcome, output, text, approvals, error } = await start(prompt, context).result
      if (outcome === 'suspended') return pending(approvals)
      if (error) throw error
      return output === undefined ? text : output
    },
  })
}
