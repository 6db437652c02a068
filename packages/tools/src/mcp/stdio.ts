import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { processFamily } from '../shell/process-family.ts'
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
 * Starts a server and speaks to it over its pipes. As the SDK's own transport, but with a process group of its own: that one
 * ends `npx` and leaves the server that npx has started.
 */
export function stdioTransport({ command, args, env, cwd, sdk, onLine }: StdioOptions): Transport {
  const buffer = new sdk.ReadBuffer()
  let child: ChildProcessWithoutNullStreams | undefined
  let ending: Promise<void> | undefined
  let endFamily = async () => {}

  const transport: Transport & { readonly pid: number | undefined; readonly stderr: null } = {
    // The SDK takes a transport with these two for a process: on such a one, silence means an old server.
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
    // On Windows a group of its own would be a window of its own.
    const detached = process.platform !== 'win32'
    // What leaves the group is known by this, as with the commands of `shell`.
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
      endWithUs(server.pid)
      if (!detached) return
      const family = processFamily({ leader: server.pid, marker })
      const release = watcher.guard(server.pid)
      endFamily = async () => {
        await family.end({ graceMs: familyGraceMs }).catch(() => {})
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
        // One message of more than 10 MB: there is no telling where the next begins.
        transport.onerror?.(error as Error)
        void close()
      }
      readMessages()
    })
    readLines(server.stderr, onLine)
    server.once('exit', () => {
      // A grandchild may hold the pipes open for ever: it gets a moment to say the rest.
      const timer = setTimeout(over, drainMs)
      server.once('close', () => {
        clearTimeout(timer)
        over()
      })
    })
    let isOver = false
    function over() {
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
        // A server that prints something else on its stdout: that line is lost, the next is read.
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

  /** As the stdio transport's Shutdown asks: stdin is closed, then TERM, then KILL; to the whole group. */
  function close(): Promise<void> {
    ending ??= child ? end(child).then(() => endFamily()) : Promise.resolve()
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
const familyGraceMs = 500
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

/** Whoever leaves without closing gives a server no time to end; if we are killed ourselves, it sees the end of its stdin. */
function endWithUs(pid: number): void {
  if (running.size === 0 && !process.listeners('exit').includes(killAll)) process.on('exit', killAll)
  running.add(pid)
}

function killAll(): void {
  for (const pid of running) signalGroup(pid, 'SIGKILL')
}

/** Calls back with each line, and with the last one if it has no end. A line without one is told in pieces. */
function readLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = ''
  stream.setEncoding('utf8')
  stream.on('data', (text: string) => {
    const lines = `${rest}${text}`.split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > longestLine) lines.push(rest.slice(0, longestLine))
    if (rest.length > longestLine) rest = ''
    for (const line of lines) onLine(line.trimEnd())
  })
  stream.on('close', () => {
    if (rest) onLine(rest)
  })
}

const longestLine = 10_000
