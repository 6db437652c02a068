import type { McpServer } from '@agentclientprotocol/sdk'
import type { Tool } from 'millrace'
import { messageOf } from 'millrace/internal'
import type { McpOptions } from '../mcp/options.ts'
import type { McpToolbox } from '../mcp/toolbox.ts'
import { mcp } from '../mcp/toolbox.ts'

/** The MCP servers that an editor hands over with a session. */
export interface SessionServers {
  /** The tools of those that are connected. */
  tools(): readonly Tool[]
  /** Connects to them on the first call. Those that fail are reported, and the others are used. */
  open(): Promise<void>
  close(): Promise<void>
}

export function sessionServers(
  servers: readonly McpServer[],
  { cwd, onProblem }: { readonly cwd: string; readonly onProblem: (problem: string) => void },
): SessionServers {
  // In the order of the servers: prompts with another order of tools are not cached.
  const boxes: McpToolbox[] = []
  let opening: Promise<void> | undefined
  let closed = false

  async function open(server: McpServer, index: number) {
    const report = (error: unknown) =>
      onProblem(`The MCP server '${server.name}' cannot be used: ${messageOf(error)}`)
    try {
      const box = await mcp({ ...optionsOf(server, cwd), onError: report })
      if (closed) await box.close()
      else boxes[index] = box
    } catch (error) {
      report(error)
    }
  }

  return {
    tools: () => boxes.flatMap(({ tools }) => tools),
    async open() {
      opening ??= Promise.all(servers.map(open)).then(() => {})
      await opening
    },
    async close() {
      closed = true
      await Promise.all(boxes.map((box) => box.close()))
    },
  }
}

function optionsOf(server: McpServer, cwd: string): McpOptions {
  const pairs = (list: readonly { name: string; value: string }[]) =>
    Object.fromEntries(list.map(({ name, value }) => [name, value]))
  const name = server.name.replace(/[^\w-]/g, '_') || 'mcp'
  if ('url' in server) return { name, url: server.url, headers: pairs(server.headers) }
  return { name, command: server.command, args: server.args, env: pairs(server.env), cwd }
}
