import type { AuthProvider, OAuthClientProvider } from '@modelcontextprotocol/client'
import type { Tool } from 'millrace'
import type { OptionTable, Problem } from 'millrace/internal'
import {
  aFunction,
  anObject,
  checkOptions,
  duration,
  invalidInput,
  isObject,
  kindOf,
  messageOf,
  someText,
  wholeNumber,
  yesOrNo,
} from 'millrace/internal'
import type { McpSampling } from './sampling.ts'

/** A log line of a server: from stderr, or a `notifications/message`. */
export interface McpLog {
  readonly from: 'stderr' | 'message'
  /** The server's level (`debug` … `emergency`), if there is one. */
  readonly level?: string
  readonly text: string
}

interface McpSettings {
  /** Prefix of tool names: `github` turns `create_issue` into `github_create_issue`. */
  readonly name?: string | undefined
  /** How long a call may take without progress; 60 s by default. */
  readonly timeoutMs?: number | undefined
  /** How long a call may take in total; one hour by default. */
  readonly maxTimeoutMs?: number | undefined
  /** How long the server may take to start and list its tools; 30 s by default. */
  readonly connectMs?: number | undefined
  /** Use only these tools, by the server's names. */
  readonly tools?: readonly string[] | undefined
  /** Trust the server's annotations: read-only tools then need no permission rule. */
  readonly trust?: boolean | undefined
  /**
   * Whether the server may ask people, which become approval requests in the middle of a call; true by
   * default.
   */
  readonly elicitation?: boolean | undefined
  /** Whether the server may ask the agent's model, within limits; false by default. */
  readonly sampling?: boolean | McpSampling | undefined
  /** Called when the server's tools have changed. */
  readonly onChange?: ((tools: readonly Tool[]) => void) | undefined
  /** Called for errors outside of a call: a broken stream, an invalid tool list. */
  readonly onError?: ((error: Error) => void) | undefined
  readonly onLog?: ((log: McpLog) => void) | undefined
}

/** A server that is started as a child process, over stdin and stdout. */
export interface McpCommand extends McpSettings {
  readonly command: string
  readonly args?: readonly string[] | undefined
  /**
   * Added to PATH, HOME and a few others that are safe to pass on; no other variables of this
   * process are passed.
   */
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly cwd?: string | undefined
}

/** A remote server: streamable HTTP, or HTTP with SSE if it supports only that. */
export interface McpUrl extends McpSettings {
  readonly url: string | URL
  /** Sent with each request; a function is called each time. */
  readonly headers?: McpHeaders | undefined
  readonly fetch?: typeof fetch | undefined
  /** From the official client: `{ token() }`, or a complete OAuth provider. */
  readonly authProvider?: AuthProvider | OAuthClientProvider | undefined
}

export type McpHeaders =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>)

export type McpOptions = McpCommand | McpUrl

/** Throws `invalid_input` if the options are invalid. */
export function checkMcpOptions(options: McpOptions): void {
  if (!isObject(options as unknown))
    throw invalidInput('mcp', `mcp() takes { command } or { url }, not ${kindOf(options)}`)
  const [started, reached] = ['command' in options, 'url' in options]
  if (started === reached)
    throw invalidInput(
      'mcp',
      started
        ? 'mcp() takes a command or a url, not both: call it twice for two servers'
        : "mcp() needs { command: 'npx', args: […] } to start a server, or { url: 'https://…' } to reach one",
    )
  checkOptions(options, started ? commandTable : urlTable, { op: 'mcp', what: 'mcp(): the option' })
}

const settingsTable: OptionTable<McpSettings> = {
  name: someText,
  timeoutMs: duration,
  maxTimeoutMs: duration,
  connectMs: duration,
  tools: texts,
  trust: yesOrNo,
  elicitation: yesOrNo,
  sampling: samplingProblem,
  onChange: aFunction,
  onError: aFunction,
  onLog: aFunction,
}

const commandTable: OptionTable<McpCommand> = {
  ...settingsTable,
  command: someText,
  args: texts,
  env: (value) =>
    anObject(value) ||
    (Object.values(value as object).some((item) => typeof item !== 'string') &&
      'must have only string values'),
  cwd: someText,
}

const urlTable: OptionTable<McpUrl> = {
  ...settingsTable,
  url: urlProblem,
  headers: (value) => typeof value !== 'function' && headersProblem(value),
  fetch: aFunction,
  authProvider: anObject,
}

const samplingTable: OptionTable<McpSampling> = {
  maxTokens: wholeNumber(1),
  maxRequests: wholeNumber(1),
}

function samplingProblem(value: unknown): Problem {
  if (typeof value === 'boolean') return undefined
  if (!isObject(value)) return `must be true, false or { maxTokens, maxRequests }, not ${kindOf(value)}`
  checkOptions(value, samplingTable, { op: 'mcp', what: 'mcp(): the option sampling.' })
  return undefined
}

function texts(value: unknown): Problem {
  return (
    !(Array.isArray(value) && value.every((item) => typeof item === 'string')) &&
    'must be an array of strings'
  )
}

function urlProblem(value: unknown): Problem {
  const url = URL.canParse(String(value)) ? new URL(String(value)) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) return 'must be a URL with http:// or https://'
  // fetch() rejects such a URL, and the error would show it.
  if (url.username || url.password) return "must not contain a user name or password: use 'headers'"
  return undefined
}

/**
 * These belong to the protocol:
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports
 */
const owned = /^(accept|content-type|content-length|host|last-event-id|mcp-.*)$/i

/** What is wrong with an object of headers, as the rest of a sentence. */
export function headersProblem(value: unknown): Problem {
  if (!isObject(value)) return anObject(value)
  const name = Object.keys(value).find((key) => owned.test(key))
  if (name !== undefined) return `must not have '${name}': the protocol sets it`
  try {
    for (const [key, item] of Object.entries(value)) {
      if (typeof item !== 'string') return `must have only string values, but '${key}' is not a string`
      new Headers([[key, item]])
    }
  } catch (error) {
    return `cannot be sent (${messageOf(error)})`
  }
  return undefined
}
