import type { Tool, Toolbox } from 'millrace'
import { closest, invalidInput } from 'millrace/internal'
import { adopt, isSafe } from './adopt.ts'
import { callServer } from './call.ts'
import { watchChanges } from './changes.ts'
import { cleaned, describeCharacters } from './clean.ts'
import { bounded, type Connection, connect, labelOf, type McpServerInfo } from './connect.ts'
import { connectError } from './failure.ts'
import { serverLink } from './link.ts'
import { listTools } from './list.ts'
import { toolNames } from './names.ts'
import { checkMcpOptions, type McpOptions } from './options.ts'
import { loadSdk, type ServerTool } from './sdk.ts'
import { mayBeTask } from './server-task.ts'

/**
 * The tools of an MCP server. `tools` follows changes of the server, and stays the same while it is
 * disconnected.
 */
export interface McpToolbox extends Toolbox, AsyncDisposable {
  readonly server: McpServerInfo
  /** Notices for people: which tools contained invisible characters. */
  notices(): Promise<readonly string[]>
  /** Closes the connection, and ends a server that was started here. Can be called twice. */
  close(): Promise<void>
}

/**
 * Connects to an MCP server and returns its tools. Rejects if there is no connection in time. If the
 * connection is lost later, the next call reconnects.
 */
export async function mcp(options: McpOptions): Promise<McpToolbox> {
  checkMcpOptions(options)
  const {
    timeoutMs = 60_000,
    maxTimeoutMs = 3_600_000,
    connectMs = 30_000,
    tools: only,
    trust = false,
    sampling = false,
    onChange = () => {},
    onError = () => {},
    onLog = () => {},
  } = options
  const logs = options.onLog !== undefined
  const label = labelOf(options)
  const sdk = await loadSdk()
  const nameOf = toolNames(options.name)
  const adopted = new Map<string, { written: string; tool: Tool }>()
  const notices = new Map<string, string>()
  let tools: readonly Tool[] | undefined
  /** All tools of the server, by the server's names. */
  let names: readonly string[] = []
  let current: Connection | undefined
  let server: McpServerInfo = { name: label, version: '', protocol: '' }
  let listed: Promise<void> = Promise.resolve()

  const link = serverLink({
    connect: (signal) => connect({ options, sdk, connectMs, signal, onError, onLog }),
    onConnection(connection) {
      current = connection
      server = cleaned(connection.server, onRemoved('The description'))
      const changed = () => relist(connection)
      listed = watchChanges(connection, { onChange: changed, onError }).then(() => list(connection))
      if (tools) listed.catch(onError)
    },
  })

  function onRemoved(what: string) {
    return (characters: readonly string[]) => {
      const notice = `${what} of the MCP server '${label}' contained ${describeCharacters(characters)}, which were removed.`
      notices.set(what, notice)
      onError(new Error(notice))
    }
  }

  /** Sequentially, so that the last list is the newest. */
  function relist(connection: Connection) {
    listed = listed.catch(() => {}).then(() => list(connection))
    listed.catch(onError)
  }

  async function list(connection: Connection): Promise<void> {
    if (connection !== current || !connection.isOpen()) return
    const definitions = await listTools(connection.client, bounded(connectMs))
    if (connection !== current) return
    names = definitions.map(({ name }) => name)
    const before = tools
    const now = definitions.filter(({ name }) => only?.includes(name) ?? true).map(toTool)
    tools = now
    if (before && !(now.length === before.length && now.every((tool, index) => tool === before[index])))
      onChange(now)
  }

  /** An unchanged tool stays the same object. */
  function toTool(definition: ServerTool): Tool {
    const written = JSON.stringify(definition)
    const known = adopted.get(definition.name)
    if (known?.written === written) return known.tool
    const name = nameOf(definition.name)
    const { outputSchema, ...read } = definition
    const tool = adopt(cleaned(read, onRemoved(`The tool '${name}'`)), {
      name,
      trust,
      mayBeTask: current !== undefined && mayBeTask(current, definition),
      call: (input, context) =>
        callServer(input, context, {
          ...{ sdk, link, definition, label: options.name, timeoutMs, maxTimeoutMs, logs },
          sampling: sampling === true ? {} : sampling || undefined,
          isSafe: isSafe(definition, trust),
        }),
    })
    adopted.set(definition.name, { written, tool })
    return tool
  }

  try {
    const { stderrTail } = await link.ready()
    try {
      await listed
      if (!tools) throw new sdk.SdkError(sdk.SdkErrorCode.ConnectionClosed, 'Connection closed')
    } catch (error) {
      throw connectError(error, { label, timeoutMs: connectMs, stderrTail: stderrTail() })
    }
    const missing = only?.find((wanted) => !adopted.has(wanted))
    if (missing !== undefined) {
      const like = closest(missing, names)
      throw invalidInput(
        'mcp',
        `the MCP server '${label}' has no tool '${missing}'${like ? `: did you mean '${like}'?` : ''}`,
      )
    }
  } catch (error) {
    await link.close()
    throw error
  }

  return {
    get tools() {
      return tools ?? []
    },
    get server() {
      return server
    },
    notices: async () => [...notices.values()],
    close: link.close,
    [Symbol.asyncDispose]: link.close,
  }
}
