import { type Command, type CommandEnd, type CommandOrder, startCommand } from './command.ts'
import { liveOutput } from './live-output.ts'
import type { OutputStore } from './output-store.ts'

/** A command that was waited for. */
export interface CommandOutcome extends CommandEnd {
  readonly output: OutputStore
  /** It was stopped since it took longer than this. */
  readonly timedOutMs?: number | undefined
}

interface Waiting {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly progress: (data: unknown) => void
  /** Told as soon as it runs: whoever ends all there is must know of it. */
  readonly onStart: (command: Command) => void
}

/**
 * Runs a command to its end. Rejects if it cannot be started, or with the signal's reason when that is aborted; by then nothing of
 * it is left.
 */
export async function runToEnd(
  order: CommandOrder,
  { timeoutMs, signal, progress, onStart }: Waiting,
): Promise<CommandOutcome> {
  signal.throwIfAborted()
  const live = liveOutput(progress)
  const command = await startCommand({ ...order, onOutput: live.push })
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
