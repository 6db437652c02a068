import type { Tool } from 'millrace'
import { tool, toolContent } from 'millrace'

/**
 * Lets a person decide on what a provider's own connection to an MCP server would run. OpenAI asks before each such call, unless the
 * server is declared with `require_approval: 'never'`; without this tool it is told no.
 */
export function hostedMcpApproval(): Tool {
  return tool({
    name: 'mcp_approval',
    description:
      'Asks the user whether a tool of an MCP server may be run. It is called by itself when that is needed: never call it.',
    input: {
      jsonSchema: {
        type: 'object',
        properties: {
          server: { type: 'string', description: 'The label of the server' },
          tool: { type: 'string' },
          arguments: { description: 'What the tool would be given' },
        },
        required: ['server', 'tool'],
      },
    },
    approve: (input) => `${input.tool} of the MCP server ${input.server}, run by the model's provider`,
    // What was approved goes along: the provider runs what it has asked for, whatever a person has made of it.
    run: (input) =>
      toolContent([{ type: 'text', text: 'Approved.', opaque: { provider: 'mcp_approval', data: input } }]),
  })
}
