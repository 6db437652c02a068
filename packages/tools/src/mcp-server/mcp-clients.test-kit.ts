import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as OldStdioTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as OldHttpTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { onTestFinished } from 'vitest'

/** How the client's user answers a question. */
type User = (question: string) => 'accept' | 'decline' | 'cancel'

interface ConnectOptions {
  readonly token?: string
  /** Absent if there is no user to ask. */
  readonly user?: User
}

interface CallOptions {
  readonly onProgress?: (message: string, progress: number) => void
  readonly signal?: AbortSignal
}

export interface Called {
  readonly content: readonly { readonly type: string; readonly text?: string }[]
  readonly structuredContent?: Readonly<Record<string, unknown>>
  readonly isError?: boolean
}

/** What the tests use of any official client. */
export interface McpClient {
  tools(): Promise<readonly { readonly name: string; readonly [more: string]: unknown }[]>
  call(name: string, input: Record<string, unknown>, options?: CallOptions): Promise<Called>
  /** Its protocol version. */
  readonly version: string | undefined
  close(): Promise<void>
}

/** A process to start. */
export interface StdioTarget {
  readonly command: string
  readonly args: string[]
  readonly env: Record<string, string>
}

type Target = string | StdioTarget

type Connect = (target: Target, options?: ConnectOptions) => Promise<McpClient>

const info = { name: 'test', version: '1' }

function headersFor({ token }: ConnectOptions) {
  return { requestInit: { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } } }
}

/** SDK v2: stateless if possible, or with the handshake of 2025-11-25. */
function connectNew(mode: 'legacy' | { pin: string }): Connect {
  return async (target, options = {}) => {
    const { user } = options
    const client = new Client(info, {
      capabilities: user ? { elicitation: {} } : {},
      versionNegotiation: { mode },
    })
    if (user)
      client.setRequestHandler('elicitation/create', ({ params }) => {
        const action = user(params.message)
        return action === 'accept' ? { action, content: {} } : { action }
      })
    const transport =
      typeof target === 'string'
        ? new StreamableHTTPClientTransport(new URL(target), headersFor(options))
        : new StdioClientTransport({ ...target, stderr: 'ignore' })
    await client.connect(transport)
    onTestFinished(() => client.close())
    return {
      tools: async () => (await client.listTools()).tools,
      call: async (name, input, { onProgress, signal } = {}) =>
        (await client.callTool(
          { name, arguments: input },
          {
            ...(onProgress && { onprogress: ({ message = '', progress }) => onProgress(message, progress) }),
            ...(signal && { signal }),
          },
        )) as Called,
      version: client.getNegotiatedProtocolVersion(),
      close: () => client.close(),
    }
  }
}

/** SDK v1. */
const connectOld: Connect = async (target, options = {}) => {
  const { user } = options
  const client = new OldClient(info, { capabilities: user ? { elicitation: {} } : {} })
  if (user)
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      const action = user(params.message)
      return action === 'accept' ? { action, content: {} } : { action }
    })
  const transport =
    typeof target === 'string'
      ? new OldHttpTransport(new URL(target), headersFor(options))
      : new OldStdioTransport({ ...target, stderr: 'ignore' })
  // Its own types conflict under `exactOptionalPropertyTypes`.
  await client.connect(transport as Parameters<typeof client.connect>[0])
  onTestFinished(() => client.close())
  return {
    tools: async () => (await client.listTools()).tools,
    call: async (name, input, { onProgress, signal } = {}) =>
      (await client.callTool({ name, arguments: input }, undefined, {
        ...(onProgress && { onprogress: ({ message = '', progress }) => onProgress(message, progress) }),
        ...(signal && { signal }),
      })) as Called,
    version: (transport as { protocolVersion?: string }).protocolVersion,
    close: () => client.close(),
  }
}

export const connectStateless = connectNew({ pin: '2026-07-28' })
export const connectV1 = connectOld

/** The official clients, by protocol. */
export const clients: readonly (readonly [name: string, connect: Connect])[] = [
  ['SDK v2 with 2026-07-28', connectStateless],
  ['SDK v2 with 2025-11-25', connectNew('legacy')],
  ['SDK v1', connectV1],
]

/** The text of the answer. */
export function textOf({ content }: Called): string {
  return content[0]?.text ?? ''
}
