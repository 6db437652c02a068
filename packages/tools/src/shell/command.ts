import { type ChildProcess, spawn } from 'node:child_process'
import { Server } from 'node:net'
import type { Duplex, Readable } from 'node:stream'
import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { newCgroup } from './cgroup.ts'
import { findProgram } from './find-program.ts'
import { type Channel, type OutputStore, outputStore } from './output-store.ts'
import { processFamily } from './process-family.ts'
import type { HostProxy, ProxySession } from './sandbox/proxy.ts'
import { newMarker, watcher } from './watcher.ts'

/** What to start, already put in the sandbox if there is one. */
export interface CommandOrder {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** What a sandbox needs besides. It ends all that is inside by itself; outside of one a command gets a cgroup for that. */
  readonly sandbox?: CommandSandbox | undefined
  readonly maxOutputBytes: number
  /** Between being asked to end and being made to. */
  readonly graceMs: number
  readonly onOutput?: ((channel: Channel, bytes: Uint8Array) => void) | undefined
}

interface CommandSandbox {
  /** It reads this from its descriptor 3. */
  readonly filter: Buffer | undefined
  /** Answers on the socket that it sends from inside. */
  readonly proxy?: HostProxy | undefined
}

export interface CommandEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly ms: number
  /** How many processes it left running, which have been ended. */
  readonly leftOver: number
  /** Hosts that its proxy did not let it reach. */
  readonly refusedHosts: readonly string[]
}

/** A command that runs, and all that it starts. */
export interface Command {
  readonly output: OutputStore
  /** Resolves when it is over, its output is read and none of its processes is left. Never rejects. */
  readonly ended: Promise<CommandEnd>
  readonly running: boolean
  /** Ends it and all that it started. Resolves as `ended` does; may be called at any time. */
  end(): Promise<CommandEnd>
  /** From now on it is no reason for this process to stay; when that is gone, so is the command. */
  unref(): void
}

/** After the command itself has ended others may still hold its output: so long is waited for what they print at once. */
const [quietMs, drainMs] = [200, 1_000]
/** So long those may take to end by themselves: a `tee` that writes its last line. */
const patienceMs = 300

/** Rejects with the operating system's error if it cannot be started. */
export async function startCommand(order: CommandOrder): Promise<Command> {
  const { cwd, sandbox, maxOutputBytes, graceMs, onOutput } = order
  const output = outputStore(maxOutputBytes)
  const { marker, env } = newMarker()
  watcher.wake()
  // What is not there is left to `spawn`, which says so.
  const isThere = findProgram(order.file, order.env.PATH, cwd) !== undefined
  const cgroup = sandbox || !isThere ? undefined : newCgroup(marker)
  const { file, args } = cgroup ? cgroup.around(order.file, order.args) : order
  const startedAt = performance.now()
  const child = await startProcess({ ...order, file, args, env: { ...order.env, ...env } }).catch(
    async (error) => {
      await cgroup?.remove()
      throw error
    },
  )
  const { pid, stdout, stderr } = child
  if (sandbox?.filter) hand(sandbox.filter, child.stdio[3] as Duplex)
  const family = processFamily({ leader: pid, marker, cgroup })
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
    // As much as if it had ended.
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
    const leftOver = await family.end({ graceMs, patienceMs })
    await Promise.race([closed, quiet()])
    stdout.destroy()
    stderr.destroy()
    network?.close()
    await cgroup?.remove()
    release()
    return { ...exit, leftOver, refusedHosts: [...(network?.refused ?? [])] }
  }

  async function quiet(): Promise<void> {
    const since = performance.now()
    for (;;) {
      const now = performance.now()
      const idleMs = now - Math.max(since, lastOutputAt)
      if (idleMs >= quietMs || now - since >= drainMs) return
      await pause(quietMs - idleMs, undefined, { ref: false })
      // If all was held up, what lies in the pipes is read only now.
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
      if (running) await family.end({ graceMs })
      // One that cannot be killed, as it waits inside the kernel, is not waited for.
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

async function startProcess({ file, args, cwd, env, sandbox }: CommandOrder): Promise<StartedProcess> {
  const more = [...(sandbox?.filter ? ['pipe' as const] : []), ...(sandbox?.proxy ? ['ipc' as const] : [])]
  const child = spawn(file, args, {
    cwd,
    env,
    // A session of its own: no terminal to ask on, and a group to end. What it reads from is at its end.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', ...more],
  })
  if (child.pid === undefined) throw await failureOf(child)
  return child as StartedProcess
}

type StartedProcess = ChildProcess & { pid: number; stdout: Readable; stderr: Readable }

/** The pipes of a child are sockets in Node, though its types do not say so. */
interface Refable {
  unref(): void
}

/** Until the other side has read it to its end and closed it. */
function hand(bytes: Buffer, pipe: Duplex) {
  // It was ended before it read.
  pipe.on('error', () => {})
  pipe.resume().end(bytes)
}

function failureOf(child: ChildProcess): Promise<Error> {
  return new Promise((resolve) => child.once('error', resolve))
}
