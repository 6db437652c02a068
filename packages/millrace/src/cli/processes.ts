import type { Worker } from 'node:cluster'
import cluster from 'node:cluster'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { exitCodes } from './exit-codes.ts'
import { onInterrupt } from './interrupts.ts'
import type { Output } from './output.ts'
import type { ReadyMessage } from './serve-process.ts'
import { closeMessage, endingNote, portEnvironment } from './serve-process.ts'
import type { ServeSettings } from './serve-settings.ts'

/** One of the processes that should run. */
interface Place {
  child?: Worker
  /** How long the next one waits before it starts. */
  delayMs: number
  timer?: NodeJS.Timeout
}

/** A process that dies sooner than this is started again after a delay. */
const shortLifeMs = 10_000
const minDelayMs = 200
const maxDelayMs = 30_000

/**
 * Runs this command line in several processes that share one port, until a signal arrives. A process
 * that dies is replaced. SIGHUP replaces them all, one after another.
 */
export async function superviseProcesses(
  count: number,
  listening: Pick<ServeSettings, 'port' | 'host'>,
  output: Output,
): Promise<number> {
  // With the default, this process accepts connections and passes them on. One that is passed to a
  // process as it dies then hangs.
  cluster.schedulingPolicy = cluster.SCHED_NONE
  // The port must stay the same even if all processes die.
  const environment = listening.port === 0 ? portEnvironment(await freePort(listening.host)) : {}
  const children = new Set<Worker>()
  const ready = new Set<Worker>()
  const places: Place[] = Array.from({ length: count }, () => ({ delayMs: 0 }))
  let isEnding = false
  let isReloading = false
  let reloadAgain = false

  /** Starts a process. If it dies while it has the place, another one gets it. */
  function launch(place: Place): Worker {
    const child = cluster.fork(environment)
    const startedAt = performance.now()
    children.add(child)
    child.once('message', () => ready.add(child))
    child.once('exit', (code, signal) => {
      children.delete(child)
      ready.delete(child)
      if (isEnding || place.child !== child) return
      place.delayMs = restartDelay(place.delayMs, performance.now() - startedAt)
      output.note(
        `process ${child.process.pid} ended with ${signal ?? `exit code ${code}`}; starting another`,
      )
      place.timer = setTimeout(() => {
        place.child = launch(place)
      }, place.delayMs)
    })
    return child
  }

  function end(child: Worker) {
    // One that does not listen yet has nothing to finish. It may have died already.
    if (ready.has(child)) child.send(closeMessage, () => {})
    else child.process.kill('SIGKILL')
  }

  /** Another call during a reload starts one more after it. */
  async function reload() {
    reloadAgain = true
    if (isReloading) return
    isReloading = true
    while (reloadAgain && !isEnding) {
      reloadAgain = false
      output.note('reloading: each process ends when a new one has taken its place')
      if (await replaceAll()) output.note('reloaded')
      else if (!isEnding)
        output.note('reload failed: a new process could not start; those that run are not affected')
    }
    isReloading = false
  }

  /** Returns false if a new process did not start. The rest of the old ones then stay. */
  async function replaceAll(): Promise<boolean> {
    for (const place of places) {
      if (isEnding) return false
      const next = launch(place)
      if (!(await readiness(next))) return false
      clearTimeout(place.timer)
      const old = place.child
      place.child = next
      if (old) end(old)
    }
    return true
  }

  async function endAll() {
    isEnding = true
    output.note(endingNote)
    for (const { timer } of places) clearTimeout(timer)
    const ended = [...children].map((child) => once(child, 'exit'))
    children.forEach(end)
    await Promise.all(ended)
  }

  const [first, ...others] = places as [Place, ...Place[]]
  const child = launch(first)
  const started = await readiness(child)
  if (!started) {
    const { exitCode, signalCode } = child.process
    // Otherwise it has reported why. The others would all report the same.
    if (signalCode) output.note(`millrace: the first process ended with ${signalCode}`)
    return exitCode ?? exitCodes.failed
  }
  first.child = child
  const interrupted = new Promise<void>((resolve) => {
    onInterrupt(() => resolve(), ['SIGINT', 'SIGTERM'])
    process.on('SIGHUP', () => (isTerminalClosed() ? resolve() : void reload()))
  })
  for (const place of others) place.child = launch(place)
  await Promise.race([interrupted, Promise.all(others.map(({ child }) => child && readiness(child)))])
  for (const { stream, text } of started.lines)
    if (stream === 'stdout') output.print(text)
    else output.note(text)
  await interrupted
  await endAll()
  return exitCodes.ok
}

/** The delay grows while processes die soon after they started. */
export function restartDelay(lastMs: number, livedMs: number): number {
  return livedMs >= shortLifeMs ? 0 : Math.min(maxDelayMs, Math.max(minDelayMs, 2 * lastMs))
}

/** Resolves when a process listens; with undefined if it ends before that. */
function readiness(child: Worker): Promise<ReadyMessage | undefined> {
  return new Promise((resolve) => {
    child.once('message', (message: ReadyMessage) => resolve(message))
    child.once('exit', () => resolve(undefined))
  })
}

/** Returns 0 if the address cannot be used, which the first process then reports. */
async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host)
  try {
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  } catch {
    return 0
  } finally {
    server.close()
  }
}

/** Whether SIGHUP was sent because the terminal was closed, and not to reload. */
function isTerminalClosed(): boolean {
  if (!process.stderr.isTTY) return false
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return false
  } catch {
    return true
  }
}
