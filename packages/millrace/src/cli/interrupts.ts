import { exitCodes } from './exit-codes.ts'

/** Why the command ends early, and its exit code. */
export interface Interruption {
  readonly exit: number
  readonly reason: string
}

const exits = { SIGINT: exitCodes.interrupted, SIGTERM: 143, SIGHUP: 129 } as const

/**
 * Calls `end` on the first of these signals. A second signal exits immediately. The handlers are
 * never removed: the process ends with the command.
 */
export function onInterrupt(
  end: (ending: Interruption) => void,
  signals: readonly (keyof typeof exits)[] = ['SIGINT', 'SIGTERM', 'SIGHUP'],
): void {
  let signaled = false
  for (const signal of signals)
    process.on(signal, () => {
      if (signaled) process.exit(exits[signal])
      signaled = true
      end({ exit: exits[signal], reason: signal === 'SIGINT' ? 'interrupted' : `stopped by ${signal}` })
    })
}
