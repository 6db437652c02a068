import { createInterface } from 'node:readline'
import type { Answer, ApprovalRequestEvent } from '../protocol/index.ts'
import { cleanLine, spelledLine } from './terminal/index.ts'

/** What is asked of a person, in a line. */
export function questionOf({ name, input, reason, permission }: ApprovalRequestEvent): string {
  // The reason names what rules look at; the query of a URL and the text of a file are only here.
  if (permission && reason) return spelledLine(`${name} ${shown(input)}: ${reason}. Allow it?`)
  return spelledLine(reason ?? `Run ${name} with ${shown(input)}?`)
}

const mostShown = 4000

function shown(input: ApprovalRequestEvent['input']): string {
  const text = JSON.stringify(input)
  if (text.length <= mostShown) return text
  const half = mostShown / 2
  return `${text.slice(0, half)} [… ${text.length - mostShown} characters that are not shown here …] ${text.slice(-half)}`
}

/**
 * Asks at the terminal, on stderr. `y` allows the call, `t` and `a` the same again in this thread or always; anything else declines it, and what else is said is the reason. Undefined if
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
    const { remember: offered } = request
    const ways = offered?.for.map((how) => (how === 'thread' ? 't in this thread' : 'a always')) ?? []
    // What would be allowed is shown before it is.
    const more = offered ? `${ways.join('/')}: ${spelledLine(offered.rules.join(', '))}/` : ''
    reader.question(`${questionOf(request)} [y/${more}N, or why not] `, (line) => {
      const said = cleanLine(line)
      const remember = offered?.for.find((how) => new RegExp(`^${how[0]}(${how.slice(1)})?$`, 'i').test(said))
      const approved = remember !== undefined || /^y(es)?$/i.test(said)
      const reason = !approved && !/^(no?)?$/i.test(said) ? said : undefined
      resolve({ approved, ...(reason !== undefined && { reason }), ...(remember && { remember }) })
      reader.close()
    })
  })
}
