import { createInterface } from 'node:readline'
import type { Answer, ApprovalRequestEvent } from '../protocol/index.ts'
import { cleanLine } from './terminal/index.ts'

/** What is asked of a person, in a line. */
export function questionOf({ name, input, reason }: ApprovalRequestEvent): string {
  return cleanLine(reason ?? `Run ${name} with ${JSON.stringify(input)}?`)
}

/**
 * Asks at the terminal, on stderr. `y` allows the call, anything else declines it, and what else is said is the reason. Undefined if
 * they pressed Ctrl-C or Ctrl-D instead, or the signal is aborted.
 */
export function confirm(request: ApprovalRequestEvent, signal: AbortSignal): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const reader = createInterface({ input: process.stdin, output: process.stderr, terminal: true })
    const leave = () => {
      process.stderr.write('\n')
      reader.close()
    }
    signal.addEventListener('abort', leave)
    reader.once('SIGINT', leave)
    // After Ctrl-Z and `fg` a reader is paused, and with it Ctrl-C: the terminal is raw.
    reader.on('SIGCONT', () => reader.resume())
    reader.once('close', () => {
      signal.removeEventListener('abort', leave)
      resolve(undefined)
    })
    reader.question(`${questionOf(request)} [y/N, or why not] `, (line) => {
      const said = cleanLine(line)
      const approved = /^y(es)?$/i.test(said)
      const reason = !approved && !/^(no?)?$/i.test(said) ? said : undefined
      resolve({ approved, ...(reason !== undefined && { reason }) })
      reader.close()
    })
  })
}
