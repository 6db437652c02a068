/**
 * What an editor offers for a thread: its files, with changes that are not saved yet, and its
 * terminals. The tools of this package use what is present, and the disk or a process of their own
 * otherwise. Methods reject if the editor reports an error or is gone. All paths are absolute.
 */
export interface WorkspaceClient {
  /** The folders that are open in the editor. It is not asked about files and commands elsewhere. */
  readonly roots: readonly string[]
  /** The text of a file or a part of it: `limit` lines from `line`, which counts from 1. */
  readTextFile?(
    path: string,
    options: { readonly line?: number; readonly limit?: number; readonly signal: AbortSignal },
  ): Promise<string>
  /** Replaces the text of a file and saves it, or creates the file in an existing folder. */
  writeTextFile?(path: string, text: string, options: { readonly signal: AbortSignal }): Promise<void>
  createTerminal?(command: TerminalCommand): Promise<ClientTerminal>
}

/** Neither `command` nor `args` have characters that a shell would interpret. */
export interface TerminalCommand {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  /** How much of the end of the output is kept. */
  readonly outputByteLimit: number
}

export interface ClientTerminal {
  readonly id: string
  /** The output that is kept. `truncated`: its beginning was dropped. */
  currentOutput(): Promise<{ readonly output: string; readonly truncated: boolean }>
  waitForExit(): Promise<TerminalExit>
  /** Ends the command. The output can still be read. */
  kill(): Promise<unknown>
  /** Must be called last; ends the command if it is still running. */
  release(): Promise<unknown>
}

/** Both are absent or null if the editor does not know. */
export interface TerminalExit {
  readonly exitCode?: number | null
  readonly signal?: string | null
}

const key = Symbol.for('millrace.workspaceClients')

/** Shared by all copies of this package: the tools of an agents file may come from another one. */
function clients(): Map<string, WorkspaceClient> {
  const shared = globalThis as { [key]?: Map<string, WorkspaceClient> }
  shared[key] ??= new Map()
  return shared[key]
}

/** Sets what the editor of a thread offers from the next call on; undefined once it is gone. */
export function setWorkspaceClient(threadId: string, client: WorkspaceClient | undefined): void {
  if (client) clients().set(threadId, client)
  else clients().delete(threadId)
}

export function workspaceClientOf(threadId: string | undefined): WorkspaceClient | undefined {
  return threadId === undefined ? undefined : clients().get(threadId)
}
