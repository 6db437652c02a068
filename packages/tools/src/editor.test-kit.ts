import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import type { ToolContext } from 'millrace'
import {
  type ClientTerminal,
  setWorkspaceClient,
  type TerminalCommand,
  type WorkspaceClient,
} from './workspace-client.ts'

export interface EditorOptions {
  /** `shell`: joins command and arguments to a line without quotes, as some editors do. */
  readonly starts?: 'program' | 'shell'
  /** Methods that replace or, if undefined, take away what the editor offers. */
  readonly offers?: { [Name in keyof WorkspaceClient]?: WorkspaceClient[Name] | undefined }
}

let threads = 0

/**
 * An editor with real buffers and real processes, opened for a new thread. It keeps whatever path
 * it is given: it does not confine anything.
 */
export function testEditor(
  roots: readonly string[],
  { starts = 'program', offers = {} }: EditorOptions = {},
) {
  const thread = `thread-${++threads}`
  const buffers = new Map<string, string>()
  const asked: string[] = []
  const terminals: (ClientTerminal & { readonly process: ChildProcess; released: boolean })[] = []

  const client = {
    roots,
    async readTextFile(path: string) {
      asked.push(`read ${path}`)
      return buffers.get(path) ?? readFileSync(path, 'utf8')
    },
    async writeTextFile(path: string, text: string) {
      asked.push(`write ${path}`)
      buffers.delete(path)
      writeFileSync(path, text)
    },
    async createTerminal(command: TerminalCommand) {
      asked.push('terminal')
      const terminal = openTerminal(`term_${terminals.length + 1}`, command, starts)
      terminals.push(terminal)
      return terminal
    },
    ...offers,
  } as WorkspaceClient
  setWorkspaceClient(thread, client)

  return {
    thread,
    client,
    asked,
    terminals,
    /** Types into a file without saving it. */
    type: (path: string, text: string) => void buffers.set(path, text),
    unsaved: (path: string) => buffers.get(path),
    /** A context for a tool call in the thread. */
    context: (more: Partial<ToolContext> = {}): Partial<ToolContext> => ({
      ...more,
      [Symbol.for('millrace.nestedRun')]: { thread },
    }),
    close: () => setWorkspaceClient(thread, undefined),
  }
}

function openTerminal(
  id: string,
  { command, args, cwd, outputByteLimit }: TerminalCommand,
  starts: 'program' | 'shell',
) {
  const env = { ...process.env, EDITOR_SECRET: 'of the editor' }
  const child =
    starts === 'program'
      ? spawn(command, args, { cwd, env })
      : spawn([command, ...args].join(' '), { cwd, env, shell: '/bin/sh' })
  const closed = once(child, 'close')
  let output = ''
  let truncated = false
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      truncated ||= output.length > outputByteLimit
      output = output.slice(-outputByteLimit)
    })
  const terminal = {
    id,
    process: child,
    released: false,
    currentOutput: async () => ({ output, truncated }),
    waitForExit: async () => {
      const [exitCode, signal] = await closed
      return { exitCode, signal }
    },
    kill: async () => child.kill('SIGKILL'),
    async release() {
      terminal.released = true
      child.kill('SIGKILL')
    },
  }
  return terminal
}
