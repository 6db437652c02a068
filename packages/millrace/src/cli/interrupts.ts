import { exitCodes } from './exit-codes.ts'

/** Why the command has to end before its time, and with which exit code. */
export interface Ending {
  readonly exit: number
  readonly reason: string
}

const signals = { SIGINT: exitCodes.interrupted, SIGTERM: 143, SIGHUP: 129 } as const

/**
 * Calls back on the first Ctrl-C, or another signal that asks to leave. A second one leaves at once, whatever is going on. For the
 * rest of the process: there is nothing after a command.
 */
export function onInterrupt(end: (ending: Ending) => void): void {
  let asked = false
  for (const [signal, exit] of Object.entries(signals))
    process.on(signal, () => {
      if (asked) process.exit(exit)
      asked = true
      end({ exit, reason: signal === 'SIGINT' ? 'interrupted' : `ended by ${signal}` })
    })
}
