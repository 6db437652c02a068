import { basename } from 'node:path'
import { type JsonObject, PROTOCOL_VERSION } from 'millrace'
import { connectError, failureOf, systemCode, truncate } from './failure.ts'
import { type HttpKind, httpTransport } from './http.ts'
import { inOrder } from './in-order.ts'
import type { McpLog, McpOptions } from './options.ts'
import { type ServerRequests, serverRequests } from './requests.ts'
import type { Client, Sdk, Transport } from './sdk.ts'
import { stdioTransport } from './stdio.ts'
import { tasksExtension } from './task-result.ts'

export interface McpServerInfo {
  readonly name: string
  readonly version: string
  /** The negotiated protocol version, such as `2026-07-28`. */
  readonly protocol: string
  /** The server's instructions for using its tools. Untrusted, like everything from the server. */
  readonly instructions?: string
}

export interface Connection {
  readonly client: Client
  readonly server: McpServerInfo
  isOpen(): boolean
  /** Calls the listener once when the connection ends for any reason. */
  onEnd(listener: () => void): void
  /** What the server asks by itself. */
  readonly requests: ServerRequests
  /** The last lines that the server wrote to stderr, at most 20. */
  stderrTail(): string
  close(): Promise<void>
}

interface ConnectOptions {
  readonly options: McpOptions
  readonly sdk: Sdk
  readonly connectMs: number
  readonly signal: AbortSignal
  readonly onError: (error: Error) => void
  readonly onLog: (log: McpLog) => void
}

/**
 * `discover` asks for the protocol with `server/discover`, and falls back to `initialize` if the server
 * does not know that method. `legacy` starts with `initialize`. `sse` is the transport of 2024-11-05.
 */
type Handshake = 'discover' | 'legacy' | 'sse'

/** Connects to a server of any version. Rejects with an explanation. */
export async function connect(settings: ConnectOptions): Promise<Connection> {
  const { options, connectMs, signal } = settings
  const label = labelOf(options)
  const deadline = AbortSignal.any([AbortSignal.timeout(bounded(connectMs)), signal])
  const tail = lineTail()
  let reported: unknown
  for (let handshake: Handshake | undefined = 'discover'; handshake; ) {
    try {
      return await attempt(handshake, settings, { deadline, tail, label })
    } catch (error) {
      // Reports the error of the newer transport: a server without SSE only says that it has none.
      if (handshake !== 'sse') reported = error
      handshake = deadline.aborted ? undefined : nextHandshake(handshake, error, 'url' in options)
    }
  }
  const error = deadline.aborted ? { code: 'REQUEST_TIMEOUT' } : reported
  throw connectError(error, { label, timeoutMs: connectMs, stderrTail: tail.text() })
}

/**
 * What to try next. A server that exits, hangs or breaks on `server/discover` is not asked again.
 */
function nextHandshake(handshake: Handshake, error: unknown, isHttp: boolean): Handshake | undefined {
  const { kind, status = 0 } = failureOf(error)
  if (handshake === 'sse' || kind === 'auth' || kind === 'unreachable' || systemCode(error) === 'ENOENT')
    return undefined
  // "If it fails with 400, 404 or 405 …": the transport's Backwards Compatibility.
  if (isHttp && status >= 400 && status < 500) return 'sse'
  return handshake === 'discover' ? 'legacy' : undefined
}

interface Attempt {
  readonly deadline: AbortSignal
  readonly tail: LineTail
  readonly label: string
}

async function attempt(
  handshake: Handshake,
  settings: ConnectOptions,
  { deadline, tail, label }: Attempt,
): Promise<Connection> {
  const { options, sdk, connectMs, onError, onLog } = settings
  const { elicitation = true, sampling = false } = options
  const transport = await transportFor(handshake, settings, tail)
  const client = new sdk.Client(clientInfo, {
    versionNegotiation: { mode: 'auto', probe: { timeoutMs: bounded(connectMs / 2) } },
    listMaxPages: 100,
    capabilities: {
      ...(elicitation && { elicitation: { form: {}, url: {} } }),
      ...(sampling && { sampling: {} }),
      extensions: { [tasksExtension]: {} },
    },
    // The call that needs it asks.
    inputRequired: { autoFulfill: false },
  })
  const requests = serverRequests()
  if (elicitation)
    client.setRequestHandler('elicitation/create', async ({ method, params }, { mcpReq }) => {
      const answer = await requests.handle({ method, params: params as JsonObject }, mcpReq.signal)
      return answer as { action: 'cancel' }
    })
  if (sampling)
    client.setRequestHandler('sampling/createMessage', async ({ method, params }, { mcpReq }) => {
      const answer = await requests.handle({ method, params: params as JsonObject }, mcpReq.signal)
      return answer as never
    })
  let isOpen = false
  client.onerror = (error) => {
    // Errors while connecting are thrown instead.
    if (isOpen && !isLate(error)) onError(error)
    // The SSE transport does not reconnect a broken stream, so close it: the next call reconnects.
    if (handshake === 'sse' && error instanceof sdk.SseError) void transport.close()
  }
  client.setNotificationHandler('notifications/message', ({ params: { level, logger, data } }) => {
    const text = typeof data === 'string' ? data : JSON.stringify(data)
    onLog({ from: 'message', level, text: logger ? `${logger}: ${text}` : text })
  })

  const giveUp = () => void transport.close()
  deadline.addEventListener('abort', giveUp)
  try {
    await client.connect(transport, {
      timeout: bounded(connectMs),
      ...(handshake !== 'discover' && { prior: { kind: 'legacy' } }),
    })
  } catch (error) {
    await transport.close().catch(() => {})
    throw error
  } finally {
    deadline.removeEventListener('abort', giveUp)
  }

  isOpen = true
  const ended = Promise.withResolvers<void>()
  client.onclose = () => {
    isOpen = false
    ended.resolve()
  }
  return {
    client,
    server: infoOf(client, label),
    requests,
    isOpen: () => isOpen,
    onEnd: (listener) => void ended.promise.then(listener),
    stderrTail: tail.text,
    async close() {
      if (isOpen && transport instanceof sdk.StreamableHTTPClientTransport)
        await Promise.race([transport.terminateSession().catch(() => {}), pause(terminateMs)])
      await client.close().catch(() => {})
      await transport.close().catch(() => {})
    },
  }
}

const terminateMs = 1_000

async function transportFor(
  handshake: Handshake,
  { options, sdk, onLog }: ConnectOptions,
  tail: LineTail,
): Promise<Transport> {
  if ('url' in options) {
    const kind: HttpKind = handshake === 'sse' ? 'sse' : 'streamable'
    return httpTransport(kind, options, sdk)
  }
  const { command, args = [], env, cwd } = options
  const { getDefaultEnvironment } = await import('@modelcontextprotocol/client/stdio')
  const onLine = (line: string) => {
    tail.add(line)
    onLog({ from: 'stderr', text: line })
  }
  return inOrder(
    stdioTransport({ command, args, env: { ...getDefaultEnvironment(), ...env }, cwd, sdk, onLine }),
  )
}

function infoOf(client: Client, label: string): McpServerInfo {
  const { name = label, version = '' } = client.getServerVersion() ?? {}
  const instructions = client.getInstructions()
  const protocol = client.getNegotiatedProtocolVersion() ?? ''
  return { name, version, protocol, ...(instructions && { instructions: truncate(instructions, 10_000) }) }
}

/** The server's name in messages: without the folders of a command or the query of a URL. */
export function labelOf(options: McpOptions): string {
  return options.name ?? ('url' in options ? new URL(options.url).host : basename(options.command))
}

const clientInfo = { name: 'millrace', version: String(PROTOCOL_VERSION) }

/** A response or progress notification that arrived after the call was abandoned. */
function isLate({ message }: Error): boolean {
  return /^Received a (response for an unknown message ID|progress notification for an unknown token)/.test(
    message,
  )
}

interface LineTail {
  add(line: string): void
  text(): string
}

function lineTail(): LineTail {
  const lines: string[] = []
  return {
    add(line) {
      if (!line.trim()) return
      lines.push(line.slice(0, 500))
      if (lines.length > 20) lines.shift()
    },
    text: () => lines.join('\n'),
  }
}

/** Limits a duration to what timers support. */
export function bounded(ms: number): number {
  return Math.min(Math.ceil(ms), 2 ** 31 - 1)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}
