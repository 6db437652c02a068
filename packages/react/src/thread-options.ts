import type { ClientOptions, CreateThreadOptions, RunRequest, SendOptions } from 'millrace/client'
import type { ToolRequest } from './messages.ts'

export interface ClientToolContext {
  readonly callId: string
  /** Aborted when the call no longer waits: its run was stopped, or another client responded. */
  readonly signal: AbortSignal
}

/** Declared as a method, so that a tool can name the type of its input. */
type RunClientTool = {
  run(input: ToolRequest['input'], context: ClientToolContext): unknown
}['run']

/**
 * A tool that runs in the browser. A function runs a tool that the agent has without a `run`. With
 * `description` and `inputSchema`, the tool comes with each message instead. Without `run`, your
 * components call `respond()`.
 */
export type ClientTool =
  | RunClientTool
  | (Omit<NonNullable<RunRequest['tools']>[number], 'name'> & { readonly run?: RunClientTool })

export interface UseThreadOptions
  extends Omit<ClientOptions, 'onOpen' | 'onRetry'>,
    Pick<CreateThreadOptions, 'agent' | 'metadata'> {
  /** The URL of the server, which may be relative to the page. */
  readonly url: string
  /**
   * The thread. If it is absent, the first message creates a thread and `onCreate` is called. With
   * another id, the hook switches to another thread.
   */
  readonly id?: string | undefined
  /** Called with the id of a new thread: put it into the URL, so that a reload shows the thread. */
  readonly onCreate?: ((id: string) => void) | undefined
  /** Tools that run in the browser, by name. */
  readonly tools?: Readonly<Record<string, ClientTool>> | undefined
  /** Comes with each message. The server says what it accepts: `clientOptions`. */
  readonly request?: RunRequest | undefined
}

/** What comes with a message. */
export function requestOf(options: UseThreadOptions, own?: SendOptions['request']): RunRequest | undefined {
  const request: RunRequest = { ...options.request, ...own }
  const declared = Object.entries(options.tools ?? {}).flatMap(([name, tool]) => {
    if (typeof tool === 'function') return []
    const { run, ...spec } = tool
    return [{ name, ...spec }]
  })
  const tools = [...(request.tools ?? []), ...declared]
  const whole = tools.length > 0 ? { ...request, tools } : request
  return Object.keys(whole).length > 0 ? whole : undefined
}
