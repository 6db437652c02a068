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
      description: 'The task or question, with everything needed: the agent does not see your conversation.',
    },
    thread: {
      type: 'string',
      minLength: 1,
      description:
        'Continues a conversation: the thread of an earlier result. Omit the prompt to get the answer to the previous one.',
    },
  },
  additionalProperties: false,
} as const satisfies JsonObject

/** What an agent does with its own tools is not known here, so these are conservative. */
const annotations = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true }

/** How often a person may be asked within one call, and how long they may take each time. */
const maxRounds = 1000
const roundTimeoutMs = 86_400_000

/**
 * Returns a function that creates an MCP server with a tool for each agent: one for each request, session
 * or pipe, as the SDK requires. `callerOf` returns the caller of a request.
 */
export function agentServers({ sdk, settings, agents, answer }: AgentServersOptions) {
  const { name, version, describe } = settings
  const tools = [...toolNames(agents)].map(([agent, tool]) => ({
    agent,
    tool,
    description: describe[agent] ?? `Ask the agent '${agent}', which may use its own tools.`,
  }))
  // Created once: compiling schemas takes longer than everything else.
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

/** Sent with each request since 2026-07-28, and once per session before. */
function capabilitiesOf(
  sdk: Sdk,
  { server }: McpServer,
  { mcpReq }: ServerContext,
): ClientCapabilities | undefined {
  const sent = mcpReq.envelope?.[sdk.CLIENT_CAPABILITIES_META_KEY as keyof typeof mcpReq.envelope]
  return (sent as ClientCapabilities | undefined) ?? server.getClientCapabilities()
}
