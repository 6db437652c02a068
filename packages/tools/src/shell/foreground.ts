import { type Command, type CommandEnd, type CommandSpec, startCommand } from './command.ts'
import { liveOutput } from './live-output.ts'
import type { OutputStore } from './output-store.ts'

/** The result of a command that ran to its end. */
export interface CommandOutcome extends CommandEnd {
  readonly output: OutputStore
  /** Set if it was stopped because it took longer than this. */
  readonly timedOutMs?: number | undefined
}

interface Waiting {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly progress: (data: unknown) => void
  /** Called as soon as it runs, so that `close()` can end it. */
  readonly onStart: (command: Command) => void
  /** Starts it somewhere else than in a process of its own. */
  readonly start?: ((spec: CommandSpec) => Promise<Command>) | undefined
}

/**
 * Runs a command to its end. Rejects if it cannot be started, or with the signal's reason when that is
 * aborted, after all its processes have ended.
 */
export async function runToEnd(
  spec: CommandSpec,
  { timeoutMs, signal, progress, onStart, start = startCommand }: Waiting,
): Promise<CommandOutcome> {
  signal.throwIfAborted()
  const live = liveOutput(progress)
  const command = await start({ ...spec, onOutput: live.push })
  onStart(command)
  const cancel = () => void command.end()
  let timedOutMs: number | undefined
  const timer = setTimeout(() => {
    if (command.running) timedOutMs = timeoutMs
    cancel()
  }, timeoutMs)
  try {
    signal.addEventListener('abort', cancel)
    if (signal.aborted) cancel()
    const end = await command.ended
    live.close()
    signal.throwIfAborted()
    return { ...end, output: command.output, timedOutMs }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', cancel)
    live.close()
  }
}
