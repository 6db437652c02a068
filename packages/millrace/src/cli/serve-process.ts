import { onInterrupt } from './interrupts.ts'
import type { Output } from './output.ts'

/** The process that serves: one that is started by the user, or one of several that are supervised. */
export interface ServeProcess {
  readonly output: Output
  /** The port that several processes share, if `--port 0` asks for any. */
  readonly port?: number | undefined
  /** Resolves when it should end. */
  ending(): Promise<void>
  /** Reports that it listens and has printed everything about it. */
  ready(): void
}

/** What a supervised process would print. */
interface PrintedLine {
  readonly stream: 'stdout' | 'stderr'
  readonly text: string
}

/** What a supervised process sends when it listens. */
export interface ReadyMessage {
  readonly lines: readonly PrintedLine[]
}

export const closeMessage = 'close'
export const endingNote = 'waiting for running tools; unfinished runs resume on the next start'

const portVariable = 'MILLRACE_SHARED_PORT'

/** The environment of a supervised process that listens on this port. */
export function portEnvironment(port: number): NodeJS.ProcessEnv {
  return { [portVariable]: String(port) }
}

export function onlyProcess(output: Output): ServeProcess {
  return {
    output,
    async ending() {
      await new Promise<void>((resolve) => onInterrupt(() => resolve()))
      output.note(endingNote)
    },
    ready() {},
  }
}

/** What it prints until it listens is left to the supervisor, which prints it once for all. */
export function supervisedProcess(output: Output): ServeProcess {
  const { [portVariable]: port } = process.env
  // Processes that tools start must not inherit it.
  delete process.env[portVariable]
  const lines: PrintedLine[] = []
  let isListening = false
  const printing = (stream: PrintedLine['stream'], print: (text: string) => void) => (text: string) =>
    isListening ? print(text) : void lines.push({ stream, text })

  return {
    output: {
      ...output,
      print: printing('stdout', output.print),
      note: printing('stderr', output.note),
    },
    port: port === undefined ? undefined : Number(port),
    ending() {
      // A terminal sends these to all processes. The supervisor decides what they mean.
      process.on('SIGINT', () => {})
      process.on('SIGHUP', () => {})
      return new Promise((resolve) => {
        process.on('SIGTERM', () => resolve())
        process.on('message', (message) => message === closeMessage && resolve())
      })
    },
    ready() {
      isListening = true
      const message: ReadyMessage = { lines }
      process.send?.(message)
    },
  }
}
