import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { processTree } from '../shell/process-tree.ts'
import { newMarker, watcher } from '../shell/watcher.ts'
import type { Sdk, Transport } from './sdk.ts'

interface StdioOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | undefined
  readonly sdk: Sdk
  /** Called with each line of stderr. */
  readonly onLine: (line: string) => void
}

/**
 * Starts a server and connects over its pipes. Like the SDK's own transport, but with a process group: the
 * SDK ends only `npx` and not the server that npx started.
 */
export function stdioTransport({ command, args, env, cwd, sdk, onLine }: StdioOptions): Transport {
  const buffer = new sdk.ReadBuffer()
  let child: ChildProcessWithoutNullStreams | undefined
  let ending: Promise<void> | undefined
  let endTree = async () => {}

  const transport: Transport & { readonly pid: number | undefined; readonly stderr: null } = {
    // With these two properties the SDK treats the transport as a process, where silence means an
    // old server.
    get pid() {
      return child?.pid
    },
    stderr: null,
    start,
    send,
    close,
  }
  return transport

  function start(): Promise<void> {
    const started = Promise.withResolvers<void>()
    // On Windows a detached process would open a window.
    const detached = process.platform !== 'win32'
    // Identifies processes that leave the group, as with commands of `shell`.
    const { marker, env: mark } = newMarker()
    if (detached) watcher.wake()
    const server = spawn(command, args, {
      env: { ...env, ...(detached && mark) },
      ...(cwd !== undefined && { cwd }),
      detached,
    })
    child = server
    server.once('spawn', () => {
      started.resolve()
      if (server.pid === undefined) return
      killOnExit(server.pid)
      if (!detached) return
      const tree = processTree({ leader: server.pid, marker })
      const release = watcher.guard(server.pid)
      endTree = async () => {
        await tree.end({ graceMs: treeGraceMs }).catch(() => {})
        release()
      }
    })
    server.on('error', (error) => {
      started.reject(error)
      transport.onerror?.(error)
    })
    server.stdin.on('error', (error) => transport.onerror?.(error))
    server.stdout.on('data', (chunk: Buffer) => {
      try {
        buffer.append(chunk)
      } catch (error) {
        // A message of more than 10 MB: the start of the next one cannot be found.
        transport.onerror?.(error as Error)
        void close()
      }
      readMessages()
    })
    readLines(server.stderr, onLine)
    server.once('exit', () => {
      // A grandchild may keep the pipes open: wait a moment for remaining output.
      const timer = setTimeout(finish, drainMs)
      server.once('close', () => {
        clearTimeout(timer)
        finish()
      })
    })
    let isOver = false
    function finish() {
      if (isOver) return
      isOver = true
      server.stdout.destroy()
      server.stderr.destroy()
      buffer.clear()
      void close()
      transport.onclose?.()
    }
    return started.promise
  }

  function readMessages() {
    for (;;) {
      try {
        const message = buffer.readMessage()
        if (message === null) return
        transport.onmessage?.(message)
      } catch (error) {
        // The server printed something else on stdout: skip the line.
        transport.onerror?.(error as Error)
      }
    }
  }

  function send(message: Parameters<Transport['send']>[0]): Promise<void> {
    return new Promise((resolve, reject) => {
      if (!child?.stdin.writable || child.exitCode !== null || child.signalCode !== null)
        throw new sdk.SdkError(sdk.SdkErrorCode.NotConnected, 'Not connected')
      child.stdin.write(sdk.serializeMessage(message), (error) => (error ? reject(error) : resolve()))
    })
  }

  /**
   * As the specification of stdio shutdown requires: close stdin, then TERM, then KILL; for the
   * whole group.
   */
  function close(): Promise<void> {
    ending ??= child ? end(child).then(() => endTree()) : Promise.resolve()
    return ending
  }
}

async function end(server: ChildProcessWithoutNullStreams): Promise<void> {
  const { pid } = server
  if (pid === undefined) return
  server.stdin.end()
  const isOver = () => server.exitCode !== null || server.signalCode !== null
  await until(isOver, graceMs)
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (isOver() && !isAlive(pid)) break
    signalGroup(pid, signal)
    await until(() => isOver() && !isAlive(pid), graceMs)
  }
  running.delete(pid)
}

const drainMs = 250
const treeGraceMs = 500
const graceMs = 2_000

async function until(condition: () => boolean, limitMs: number): Promise<void> {
  for (const end = Date.now() + limitMs; !condition() && Date.now() < end; )
    await new Promise((resolve) => setTimeout(resolve, 10))
}

function isAlive(group: number): boolean {
  return signalGroup(group, 0)
}

function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(process.platform === 'win32' ? group : -group, signal)
  } catch {
    return false
  }
}

const running = new Set<number>()

/**
 * Kills servers if the process exits without closing them. If it is killed, they see the end of
 * stdin.
 */
function killOnExit(pid: number): void {
  if (running.size === 0 && !process.listeners('exit').includes(killAll)) process.on('exit', killAll)
  running.add(pid)
}

function killAll(): void {
  for (const pid of running) signalGroup(pid, 'SIGKILL')
}

/** Calls `onLine` with each line, including an unfinished last one. Overlong lines are split. */
function readLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = ''
  stream.setEncoding('utf8')
  stream.on('data', (text: string) => {
    const lines = `${rest}${text}`.split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > maxLineChars) lines.push(rest.slice(0, maxLineChars))
    if (rest.length > maxLineChars) rest = ''
    for (const line of lines) onLine(line.trimEnd())
  })
  stream.on('close', () => {
    if (rest) onLine(rest)
  })
}

const maxLineChars = 10_000
