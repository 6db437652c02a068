import { type ChildProcess, spawn } from 'node:child_process'
import { Server } from 'node:net'
import type { Duplex, Readable } from 'node:stream'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { newCgroup } from './cgroup.ts'
import { findProgram } from './find-program.ts'
import { type Channel, type OutputStore, outputStore } from './output-store.ts'
import { processTree } from './process-tree.ts'
import type { HostProxy, ProxySession } from './sandbox/proxy.ts'
import { newMarker, watcher } from './watcher.ts'

/** What to start; already wrapped in the sandbox if there is one. */
export interface CommandSpec {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** A sandbox ends everything inside it. Without one, a cgroup is used for that. */
  readonly sandbox?: CommandSandbox | undefined
  readonly maxOutputBytes: number
  /** Time between SIGTERM and SIGKILL. */
  readonly graceMs: number
  readonly onOutput?: ((channel: Channel, bytes: Uint8Array) => void) | undefined
}

interface CommandSandbox {
  /** The seccomp filter, which the sandbox reads from descriptor 3. */
  readonly filter: Buffer | undefined
  /** Serves the listening socket that the sandbox sends from inside. */
  readonly proxy?: HostProxy | undefined
}

export interface CommandEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly ms: number
  /** How many processes it left running; they have been ended. */
  readonly leftOver: number
  /** Hosts that the proxy denied. */
  readonly deniedHosts: readonly string[]
}

/** A running command with all processes it starts. */
export interface Command {
  readonly output: OutputStore
  /**
   * Resolves when the command has exited, its output is read and all its processes have ended.
   * Never rejects.
   */
  readonly ended: Promise<CommandEnd>
  readonly running: boolean
  /**
   * Ends the command and everything it started. Resolves like `ended`; can be called at any time.
   */
  end(): Promise<CommandEnd>
  /** Stops keeping this process alive. When the process exits, the command ends. */
  unref(): void
}

/** How long to wait for output of processes that outlive the command: idle time, and in total. */
const [quietMs, drainMs] = [200, 1_000]
/** How long they may take to end on their own, such as a `tee` that writes its last line. */
const patienceMs = 300

/** Rejects with the operating system's error if it cannot be started. */
export async function startCommand(spec: CommandSpec): Promise<Command> {
  const { cwd, sandbox, maxOutputBytes, graceMs, onOutput } = spec
  const output = outputStore(maxOutputBytes)
  const { marker, env } = newMarker()
  watcher.wake()
  // For a missing program, `spawn` reports the error.
  const isThere = findProgram(spec.file, spec.env.PATH, cwd) !== undefined
  const cgroup = sandbox || !isThere ? undefined : newCgroup(marker)
  const { file, args } = cgroup ? cgroup.around(spec.file, spec.args) : spec
  const startedAt = performance.now()
  const child = await startProcess({ ...spec, file, args, env: { ...spec.env, ...env } }).catch(
    async (error) => {
      await cgroup?.remove()
      throw error
    },
  )
  const { pid, stdout, stderr } = child
  if (sandbox?.filter) sendAll(sandbox.filter, child.stdio[3] as Duplex)
  const tree = processTree({ leader: pid, marker, cgroup })
  const release = watcher.guard(pid)

  let [running, lastOutputAt] = [true, 0]
  let network: ProxySession | undefined
  child.once('message', (_, listener) => {
    if (listener instanceof Server) network = sandbox?.proxy?.serve(listener)
    if (!running) network?.close()
  })
  const listen = (stream: Readable, channel: Channel) => {
    stream.on('data', (bytes: Uint8Array) => {
      lastOutputAt = performance.now()
      output.push(channel, bytes)
      onOutput?.(channel, bytes)
    })
    // Treated like the end of the stream.
    stream.on('error', () => {})
  }
  listen(stdout, 1)
  listen(stderr, 2)

  const closed = new Promise<void>((resolve) => child.on('close', () => resolve()))
  const exited = Promise.withResolvers<Pick<CommandEnd, 'code' | 'signal' | 'ms'>>()
  const leave = (code: number | null, signal: NodeJS.Signals | null) => {
    running = false
    exited.resolve({ code, signal, ms: performance.now() - startedAt })
  }
  child.on('exit', leave)

  async function finish(): Promise<CommandEnd> {
    const exit = await exited.promise
    await Promise.race([closed, quiet()])
    const leftOver = await tree.end({ graceMs, patienceMs })
    await Promise.race([closed, quiet()])
    stdout.destroy()
    stderr.destroy()
    network?.close()
    await cgroup?.remove()
    release()
    return { ...exit, leftOver, deniedHosts: [...(network?.denied ?? [])] }
  }

  async function quiet(): Promise<void> {
    const since = performance.now()
    for (;;) {
      const now = performance.now()
      const idleMs = now - Math.max(since, lastOutputAt)
      if (idleMs >= quietMs || now - since >= drainMs) return
      await pause(quietMs - idleMs, undefined, { ref: false })
      // If the event loop was blocked, pending output is read only now.
      await turn()
    }
  }

  const ended = finish()
  return {
    output,
    ended,
    get running() {
      return running
    },
    async end() {
      if (running) await tree.end({ graceMs })
      // A process stuck in the kernel cannot be killed: do not wait for it.
      if (running) await Promise.race([ended, pause(quietMs)])
      if (running) leave(null, 'SIGKILL')
      return ended
    },
    unref() {
      child.unref()
      for (const stream of [stdout, stderr]) if ('unref' in stream) (stream as unknown as Refable).unref()
    },
  }
}

async function startProcess({ file, args, cwd, env, sandbox }: CommandSpec): Promise<StartedProcess> {
  const more = [...(sandbox?.filter ? ['pipe' as const] : []), ...(sandbox?.proxy ? ['ipc' as const] : [])]
  const child = spawn(file, args, {
    cwd,
    env,
    // A new session: no controlling terminal to prompt on, and a process group to kill. stdin is
    // empty.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', ...more],
  })
  if (child.pid === undefined) throw await failureOf(child)
  return child as StartedProcess
}

type StartedProcess = ChildProcess & { pid: number; stdout: Readable; stderr: Readable }

/** In Node the pipes of a child are sockets, which its types do not say. */
interface Refable {
  unref(): void
}

/** Writes everything and closes the pipe. */
function sendAll(bytes: Buffer, pipe: Duplex) {
  // The process ended before it read everything.
  pipe.on('error', () => {})
  pipe.resume().end(bytes)
}

function failureOf(child: ChildProcess): Promise<Error> {
  return new Promise((resolve) => child.once('error', resolve))
}
