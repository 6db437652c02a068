import type { Agent, ApprovalRequestEvent, Decision, RunEvent } from 'millrace'
import { type Call, callsOf, statusOf } from './calls.ts'
import { cleanLine, deltaCleaner } from './clean.ts'
import { exchange } from './exchange.ts'
import { questionFromStdin } from './stdin.ts'

/** One exchange for a pipe, a file or a CI log. Gives the exit code. */
export async function playOnce(desk: Agent): Promise<number> {
  const question = (await questionFromStdin()) || 'Where is ORD-42, and what else did I order?'
  console.log(`you: ${cleanLine(question)}\n`)
  const stopping = new AbortController()
  process.once('SIGINT', () => stopping.abort(new Error('interrupted')))
  const { outcome, error } = await exchange(desk, [{ role: 'user', content: question }], {
    signal: stopping.signal,
    onEvent: plainView(),
    decide,
  })
  if (error) console.error(`error: ${cleanLine(error.message)}`)
  return outcome === 'cancelled' ? 130 : error ? 1 : 0
}

async function decide({ callId }: ApprovalRequestEvent): Promise<Decision> {
  return { callId, approved: false, reason: 'there is no terminal to ask a person at' }
}

/** Words as they come, and a line of its own for everything that happens to a call. */
function plainView(): (event: RunEvent) => void {
  const calls = callsOf()
  const cleanDelta = deltaCleaner()
  let said = '\n'
  let waiting: string[] = []

  function say(text: string) {
    const words = said.endsWith('\n') ? text.trimStart() : text
    if (!words) return
    process.stdout.write(words)
    said = (said + words).slice(-2)
  }

  /** A line from a running tool waits for the end of the sentence that is being said. */
  function flush() {
    if (waiting.length === 0) return
    if (!said.endsWith('\n')) say('\n')
    for (const line of waiting) say(`${line}\n`)
    waiting = []
  }

  return (event) => {
    const call = calls.take(event)
    if (event.type === 'text') {
      say(cleanDelta(event.text))
      if (/[.!?] |\n$/.test(said)) flush()
      return
    }
    const line = call && lineOf(call, event)
    if (line) waiting.push(`[${call.name}] ${line}`)
    // The model itself has paused here; a tool may report at any time.
    if (event.type !== 'tool-progress' && event.type !== 'tool-result') flush()
    if (event.type === 'round-end' && !said.endsWith('\n')) say('\n')
  }
}

function lineOf(call: Call, { type }: RunEvent): string | undefined {
  switch (type) {
    case 'tool-call':
      return `${cleanLine(call.input)} …`
    case 'tool-progress':
      return cleanLine(call.note)
    case 'approval-request':
      return 'needs a person to agree'
    case 'tool-result':
      return statusOf(call)
    default:
      return undefined
  }
}
