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
  yesOrNo,
} from 'millrace/internal'

/** A line that a server wrote about itself: on its stderr, or as `notifications/message`. */
export interface McpLog {
  readonly from: 'stderr' | 'message'
  /** As the server names it (`debug` … `emergency`), if it does. */
  readonly level?: string
  readonly text: string
}

interface McpSettings {
  /** Comes before the name of each tool: `github` makes `create_issue` into `github_create_issue`. */
  readonly name?: string | undefined
  /** How long a call may take without a word of progress. */
  readonly timeoutMs?: number | undefined
  /** How long it may take in all, however often there is a word; one hour if absent. */
  readonly maxTimeoutMs?: number | undefined
  /** How long the server may take to start and to say what it has. */
  readonly connectMs?: number | undefined
  /** Only these, as the server names them. */
  readonly tools?: readonly string[] | undefined
  /** Believes what the server says of its tools: one that only reads then needs no rule of its own. */
  readonly trust?: boolean | undefined
  /** Told when the server has other tools than before. */
  readonly onChange?: ((tools: readonly Tool[]) => void) | undefined
  /** Told what goes wrong outside of a call: a stream that broke, a list that could not be read. */
  readonly onError?: ((error: Error) => void) | undefined
  readonly onLog?: ((log: McpLog) => void) | undefined
}

/** A server that is started here and spoken to over its stdin and stdout. */
export interface McpCommand extends McpSettings {
  readonly command: string
  readonly args?: readonly string[] | undefined
  /** In addition to PATH, HOME and the few others that are safe to hand on; nothing else of this process' is. */
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly cwd?: string | undefined
}

/** A server somewhere else: streamable HTTP, or HTTP with SSE if it speaks only that. */
export interface McpUrl extends McpSettings {
  readonly url: string | URL
  /** Sent with each request; a function is asked each time. */
  readonly headers?: McpHeaders | undefined
  readonly fetch?: typeof fetch | undefined
  /** The official client's: `{ token() }` at its simplest, or a whole OAuth provider. */
  readonly authProvider?: AuthProvider | OAuthClientProvider | undefined
}

export type McpHeaders =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>)

export type McpOptions = McpCommand | McpUrl

/** Throws `invalid_input` if they cannot be used. */
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
    (Object.values(value as object).some((item) => typeof item !== 'string') && 'must have text values only'),
  cwd: someText,
}

const urlTable: OptionTable<McpUrl> = {
  ...settingsTable,
  url: urlProblem,
  headers: (value) => typeof value !== 'function' && headersProblem(value),
  fetch: aFunction,
  authProvider: anObject,
}

function texts(value: unknown): Problem {
  return (
    !(Array.isArray(value) && value.every((item) => typeof item === 'string')) && 'must be an array of texts'
  )
}

function urlProblem(value: unknown): Problem {
  const url = URL.canParse(String(value)) ? new URL(String(value)) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) return 'must be an address with http:// or https://'
  // fetch() refuses such an address, and an error would show it.
  if (url.username || url.password) return "must not have a name or password in it: pass 'headers'"
  return undefined
}

/** These belong to the protocol: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports */
const owned = /^(accept|content-type|content-length|host|last-event-id|mcp-.*)$/i

/** What is wrong with a record of headers, as the rest of a sentence. */
export function headersProblem(value: unknown): Problem {
  if (!isObject(value)) return anObject(value)
  const name = Object.keys(value).find((key) => owned.test(key))
  if (name !== undefined) return `must not have '${name}': the protocol sets it`
  try {
    for (const [key, item] of Object.entries(value)) {
      if (typeof item !== 'string') return `must have text values only, which '${key}' is not`
      new Headers([[key, item]])
    }
  } catch (error) {
    return `cannot be sent (${messageOf(error)})`
  }
  return undefined
}
