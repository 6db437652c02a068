import type {
  CallToolResult,
  ClientCapabilities,
  InputRequiredResult,
  McpServer,
  ServerContext,
} from '@modelcontextprotocol/server'
import type { JsonObject } from 'millrace'
import type { Caller } from 'millrace/server'
import type { AgentCall, AgentCallInput } from './agent-call.ts'
import { canAsk } from './approvals.ts'
import type { McpSettings } from './options.ts'
import { outputSchema } from './results.ts'
import type { Sdk } from './sdk.ts'
import { toolNames } from './tool-names.ts'

export interface AgentServersOptions {
  readonly sdk: Sdk
  readonly settings: McpSettings
  readonly agents: readonly string[]
  readonly answer: (call: AgentCall) => Promise<CallToolResult | InputRequiredResult>
}

const inputSchema = {
  type: 'object',
  properties: {
    prompt: {
      type: 'string',
      minLength: 1,
      description:
        'What to do or to answer, with everything needed for it: nothing of your own conversation is known.',
    },
    thread: {
      type: 'string',
      minLength: 1,
      description:
        'Goes on with a conversation: the thread of an earlier result. With it the prompt may be left out, to get the answer to what was asked before.',
    },
  },
  additionalProperties: false,
} as const satisfies JsonObject

/** What an agent does with its own tools is not known here, so nothing is promised. */
const annotations = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true }

/** So often a person may be asked within one call, and so long they may take for each. */
const maxRounds = 1000
const roundTimeoutMs = 86_400_000

/**
 * Gives a function that makes an MCP server with a tool for each agent: a new one for each request, session or pipe, as the SDK
 * wants it. `callerOf` tells who sent a request.
 */
export function agentServers({ sdk, settings, agents, answer }: AgentServersOptions) {
  const { name, version, describe } = settings
  const tools = [...toolNames(agents)].map(([agent, tool]) => ({
    agent,
    tool,
    description: describe[agent] ?? `Asks the agent '${agent}', which may use tools of its own.`,
  }))
  // Made once: to compile them takes longer than all the rest.
  const input = sdk.fromJsonSchema<AgentCallInput>(inputSchema)
  const output = sdk.fromJsonSchema(outputSchema)

  return (callerOf: (context: ServerContext) => Caller): McpServer => {
    const server = new sdk.McpServer(
      { name, version },
      { capabilities: { tools: { listChanged: false } }, inputRequired: { maxRounds, roundTimeoutMs } },
    )
    for (const { agent, tool, description } of tools)
      server.registerTool(
        tool,
        { title: agent, description, inputSchema: input, outputSchema: output, annotations },
        (input, context) =>
          answer({
            agent,
            input,
            caller: callerOf(context),
            canAsk: canAsk(capabilitiesOf(sdk, server, context)),
            request: context.mcpReq,
          }),
      )
    return server
  }
}

/** Said with each request since 2026-07-28, and once for all before. */
function capabilitiesOf(
  sdk: Sdk,
  { server }: McpServer,
  { mcpReq }: ServerContext,
): ClientCapabilities | undefined {
  const told = mcpReq.envelope?.[sdk.CLIENT_CAPABILITIES_META_KEY as keyof typeof mcpReq.envelope]
  return (told as ClientCapabilities | undefined) ?? server.getClientCapabilities()
}
