import { exitCodes } from './exit-codes.ts'

/** Why the command ends early, and its exit code. */
export interface Interruption {
  readonly exit: number
  readonly reason: string
}

const signals = { SIGINT: exitCodes.interrupted, SIGTERM: 143, SIGHUP: 129 } as const

/**
 * Calls `end` on the first Ctrl-C, SIGTERM or SIGHUP. A second signal exits immediately. The handlers
 * are never removed: the process ends with the command.
 */
export function onInterrupt(end: (ending: Interruption) => void): void {
  let signaled = false
  for (const [signal, exit] of Object.entries(signals))
    process.on(signal, () => {
      if (signaled) process.exit(exit)
      signaled = true
      end({ exit, reason: signal === 'SIGINT' ? 'interrupted' : `stopped by ${signal}` })
    })
}
