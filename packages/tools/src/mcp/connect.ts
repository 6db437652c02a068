import { basename } from 'node:path'
import { PROTOCOL_VERSION } from 'millrace'
import { connectError, failureOf, short, systemCode } from './failure.ts'
import { type HttpKind, httpTransport } from './http.ts'
import { inTurn } from './in-turn.ts'
import type { McpLog, McpOptions } from './options.ts'
import type { Client, Sdk, Transport } from './sdk.ts'
import { stdioTransport } from './stdio.ts'

export interface McpServerInfo {
  readonly name: string
  readonly version: string
  /** The revision that both sides speak: `2026-07-28`. */
  readonly protocol: string
  /** How the server wants its tools to be used. From outside, as everything it says. */
  readonly instructions?: string
}

export interface Connection {
  readonly client: Client
  readonly server: McpServerInfo
  isOpen(): boolean
  /** Called once when it is over, in whatever way. */
  onEnd(listener: () => void): void
  /** The end of what the server wrote on stderr, at most 20 lines. */
  lastWords(): string
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
 * How the first words are said. `ask` asks with `server/discover` which protocol there is, and goes on with `initialize` if the
 * server does not know the question; `old` does not ask; `sse` is the old transport of 2024-11-05.
 */
type Way = 'ask' | 'old' | 'sse'

/** Connects to a server of any version. Rejects with a sentence why not. */
export async function connect(settings: ConnectOptions): Promise<Connection> {
  const { options, connectMs, signal } = settings
  const label = labelOf(options)
  const deadline = AbortSignal.any([AbortSignal.timeout(bounded(connectMs)), signal])
  const tail = lineTail()
  let reported: unknown
  for (let way: Way | undefined = 'ask'; way; ) {
    try {
      return await attempt(way, settings, { deadline, tail, label })
    } catch (error) {
      // What the old transport says of a server that has none hides what was wrong with the new one.
      if (way !== 'sse') reported = error
      way = deadline.aborted ? undefined : nextWay(way, error, 'url' in options)
    }
  }
  const error = deadline.aborted ? { code: 'REQUEST_TIMEOUT' } : reported
  throw connectError(error, { label, timeoutMs: connectMs, lastWords: tail.text() })
}

/** What to try after this failed. Servers that end, hang or break at a question they do not know are not asked twice. */
function nextWay(way: Way, error: unknown, isHttp: boolean): Way | undefined {
  const { kind, status = 0 } = failureOf(error)
  if (way === 'sse' || kind === 'auth' || kind === 'unreachable' || systemCode(error) === 'ENOENT')
    return undefined
  // "If it fails with 400, 404 or 405 …": the transport's Backwards Compatibility.
  if (isHttp && status >= 400 && status < 500) return 'sse'
  return way === 'ask' ? 'old' : undefined
}

interface Attempt {
  readonly deadline: AbortSignal
  readonly tail: LineTail
  readonly label: string
}

async function attempt(
  way: Way,
  settings: ConnectOptions,
  { deadline, tail, label }: Attempt,
): Promise<Connection> {
  const { sdk, connectMs, onError, onLog } = settings
  const transport = await transportFor(way, settings, tail)
  const client = new sdk.Client(ourselves, {
    versionNegotiation: { mode: 'auto', probe: { timeoutMs: bounded(connectMs / 2) } },
    listMaxPages: 100,
  })
  let isOpen = false
  client.onerror = (error) => {
    // What keeps a connection from coming about is thrown.
    if (isOpen && !isLate(error)) onError(error)
    // The old transport says nothing more on a stream that broke; a new connection starts anew.
    if (way === 'sse' && error instanceof sdk.SseError) void transport.close()
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
      ...(way !== 'ask' && { prior: { kind: 'legacy' } }),
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
    isOpen: () => isOpen,
    onEnd: (listener) => void ended.promise.then(listener),
    lastWords: tail.text,
    async close() {
      if (isOpen && transport instanceof sdk.StreamableHTTPClientTransport)
        await Promise.race([transport.terminateSession().catch(() => {}), pause(goodbyeMs)])
      await client.close().catch(() => {})
      await transport.close().catch(() => {})
    },
  }
}

const goodbyeMs = 1_000

async function transportFor(
  way: Way,
  { options, sdk, onLog }: ConnectOptions,
  tail: LineTail,
): Promise<Transport> {
  if ('url' in options) {
    const kind: HttpKind = way === 'sse' ? 'sse' : 'streamable'
    return httpTransport(kind, options, sdk)
  }
  const { command, args = [], env, cwd } = options
  const { getDefaultEnvironment } = await import('@modelcontextprotocol/client/stdio')
  const onLine = (line: string) => {
    tail.add(line)
    onLog({ from: 'stderr', text: line })
  }
  return inTurn(
    stdioTransport({ command, args, env: { ...getDefaultEnvironment(), ...env }, cwd, sdk, onLine }),
  )
}

function infoOf(client: Client, label: string): McpServerInfo {
  const { name = label, version = '' } = client.getServerVersion() ?? {}
  const instructions = client.getInstructions()
  const protocol = client.getNegotiatedProtocolVersion() ?? ''
  return { name, version, protocol, ...(instructions && { instructions: short(instructions, 10_000) }) }
}

/** What the server is called in sentences: never with the folders it is in, nor with what an address has in its query. */
export function labelOf(options: McpOptions): string {
  return options.name ?? ('url' in options ? new URL(options.url).host : basename(options.command))
}

const ourselves = { name: 'millrace', version: String(PROTOCOL_VERSION) }

/** An answer, or a word of progress, that came after the call was given up. */
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

/** As long as a timer can be set. */
export function bounded(ms: number): number {
  return Math.min(Math.ceil(ms), 2 ** 31 - 1)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}
