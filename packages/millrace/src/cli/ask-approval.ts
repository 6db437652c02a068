import { createInterface } from 'node:readline'
import type { ApprovalAnswer, ApprovalRequestEvent } from '../protocol/index.ts'
import { budgetQuestion } from '../protocol/index.ts'
import { cleanLine, escapedLine } from './terminal/index.ts'

/** What the user is asked to approve, in one line. */
export function approvalQuestion({ name, input, reason, permission, budget }: ApprovalRequestEvent): string {
  if (budget) return budgetQuestion(budget, input)
  // The reason names only what permission rules check, so the input is shown too: it has the query
  // of a URL or the text of a file.
  if (permission && reason)
    return escapedLine(
      `${name} ${inputText(input)}: ${reason.endsWith('?') ? reason : `${reason}. Allow it?`}`,
    )
  return escapedLine(reason ?? `Run ${name} with ${inputText(input)}?`)
}

/** A call that a client has to run, in one line. */
export function resultRequest({ name, input }: ApprovalRequestEvent): string {
  return escapedLine(`${name} is waiting for a result from a client: ${inputText(input)}`)
}

/** The choices that allow the same from now on, with the rules they would add. */
export function rememberChoices({ remember }: Pick<ApprovalRequestEvent, 'remember'>): string {
  if (!remember) return ''
  const choices = remember.for.map((how) =>
    how === 'thread' ? '[t] allow in this thread' : '[a] always allow',
  )
  return `${choices.join(' · ')} (${escapedLine(remember.rules.join(', '))}) · `
}

const maxInputChars = 4000

function inputText(input: ApprovalRequestEvent['input']): string {
  const text = JSON.stringify(input)
  if (text.length <= maxInputChars) return text
  const half = maxInputChars / 2
  return `${text.slice(0, half)} [… ${text.length - maxInputChars} characters not shown …] ${text.slice(-half)}`
}

/**
 * Asks for approval in the terminal, on stderr. `y` allows the call; `t` and `a` also allow the same
 * from now on, in this thread or always. Anything else denies it and is passed on as the reason.
 * Resolves to undefined on Ctrl-C or Ctrl-D, or if the signal is aborted.
 */
export function askApproval(
  request: ApprovalRequestEvent,
  signal: AbortSignal,
): Promise<ApprovalAnswer | undefined> {
  return new Promise((resolve) => {
    const reader = createInterface({ input: process.stdin, output: process.stderr, terminal: true })
    const leave = () => {
      process.stderr.write('\n')
      reader.close()
    }
    signal.addEventListener('abort', leave)
    reader.once('SIGINT', leave)
    // After Ctrl-Z and `fg` the reader is paused. In raw mode Ctrl-C would then not work.
    reader.on('SIGCONT', () => reader.resume())
    reader.once('close', () => {
      signal.removeEventListener('abort', leave)
      resolve(undefined)
    })
    const { remember: offered } = request
    const choices = request.budget
      ? '[y/n] '
      : `[y] allow once · ${rememberChoices(request)}[N] deny (or type a reason) `
    reader.question(`${approvalQuestion(request)} ${choices}`, (line) => {
      const reply = cleanLine(line)
      const remember = offered?.for.find((how) =>
        new RegExp(`^${how[0]}(${how.slice(1)})?$`, 'i').test(reply),
      )
      const approved = remember !== undefined || /^y(es)?$/i.test(reply)
      const reason = !approved && !/^(no?)?$/i.test(reply) ? reply : undefined
      resolve({ approved, ...(reason !== undefined && { reason }), ...(remember && { remember }) })
      reader.close()
    })
  })
}
