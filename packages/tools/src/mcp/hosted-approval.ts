import type { Tool } from 'millrace'
import { tool, toolContent } from 'millrace'

/**
 * Lets a person approve calls that a provider makes to an MCP server itself. OpenAI asks before each such
 * call, unless the server is declared with `require_approval: 'never'`; without this tool the call is
 * denied.
 */
export function hostedMcpApproval(): Tool {
  return tool({
    name: 'mcp_approval',
    description:
      'Asks the user whether a tool of an MCP server may run. It is called automatically when needed: never call it yourself.',
    input: {
      jsonSchema: {
        type: 'object',
        properties: {
          server: { type: 'string', description: 'The label of the server' },
          tool: { type: 'string' },
          arguments: { description: 'The arguments for the tool' },
        },
        required: ['server', 'tool'],
      },
    },
    approve: (input) => `Run ${input.tool} of the MCP server ${input.server}, by the model's provider?`,
    // Includes the approved input: the provider runs its own version, even if a person edited it.
    run: (input) =>
      toolContent([{ type: 'text', text: 'Approved.', opaque: { provider: 'mcp_approval', data: input } }]),
  })
}
