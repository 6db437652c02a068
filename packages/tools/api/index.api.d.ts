import { PermissionMemory, Policy, Tool, Toolbox } from 'millrace'

import { LookupAddress } from 'node:dns'

interface FilesOptions {
  readonly workspace: string
  readonly readOnly?: boolean | undefined
  readonly maxReadBytes?: number | undefined
  readonly maxImageBytes?: number | undefined
  readonly maxResults?: number | undefined
  readonly ignore?: readonly string[] | undefined
  readonly ripgrep?: string | false | undefined
}

type Headers = Readonly<Record<string, string>>

type HeadersOption = Headers | ((url: URL) => Headers)

interface Input {
  readonly url: string
  readonly offset?: number
  readonly raw?: boolean
}

type Lookup = (
  hostname: string,
  options: {
    readonly all: true
  },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

interface PermissionOptions {
  readonly allow?: readonly string[] | undefined
  readonly ask?: readonly string[] | undefined
  readonly deny?: readonly string[] | undefined
  readonly otherwise?: 'allow' | 'ask' | 'deny' | undefined
  readonly sandboxed?: 'allow' | undefined
  readonly mode?: 'read-only' | undefined
  readonly memory?: PermissionMemory | undefined
}

interface ShellOptions {
  readonly workspace: string
  readonly timeoutMs?: number | undefined
  readonly maxTimeoutMs?: number | undefined
  readonly maxOutputBytes?: number | undefined
  readonly maxResultChars?: number | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly passEnv?: readonly string[] | undefined
  readonly sandbox?: 'auto' | 'required' | 'off' | undefined
  readonly network?: boolean | readonly string[] | undefined
  readonly writable?: readonly string[] | undefined
  readonly maxBackground?: number | undefined
  readonly backgroundMs?: number | undefined
  readonly graceMs?: number | undefined
  readonly program?: string | undefined
}

interface ShellToolbox extends Toolbox<unknown> {
  notices(): Promise<readonly string[]>
  close(): Promise<void>
}

interface WebFetchOptions {
  readonly timeoutMs?: number | undefined
  readonly maxBytes?: number | undefined
  readonly maxChars?: number | undefined
  readonly maxRedirects?: number | undefined
  readonly allow?: readonly string[] | undefined
  readonly headers?: HeadersOption | undefined
  readonly lookup?: Lookup | undefined
}

declare function files(options: FilesOptions): Toolbox

declare function permission(options?: PermissionOptions): Policy

declare function permissionFile(path: string | URL): PermissionMemory

declare function shell(options: ShellOptions): ShellToolbox

declare function webFetch(options?: WebFetchOptions): Tool<unknown, 'web_fetch', Input>

export {
  type FilesOptions,
  type PermissionOptions,
  type ShellOptions,
  type ShellToolbox,
  type WebFetchOptions,
  files,
  permission,
  permissionFile,
  shell,
  webFetch,
}
