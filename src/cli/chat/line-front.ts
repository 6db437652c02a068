import { createInterface } from 'node:readline'
import type { Entry, ThreadEvent } from '../../protocol/index.ts'
import { textOf } from '../../protocol/index.ts'
import type { Call } from '../terminal/index.ts'
import {
  callsOf,
  cleanLine,
  cleanText,
  clip,
  deltaCleaner,
  spelledLine,
  statusOf,
} from '../terminal/index.ts'
import type { Front, Person, Status } from './front.ts'
import { atRest } from './front.ts'
import { replyHelp } from './reply.ts'

export interface LineFrontOptions {
  readonly input: NodeJS.ReadableStream
  readonly output: NodeJS.WritableStream
  readonly person: Person
}

/** For a terminal that can do no more than print: words as they come, a line for everything else, nothing ever redrawn. */
export function lineFront({ input, output, person }: LineFrontOptions): Front {
  const reader = createInterface({ input, terminal: false })
  let calls = callsOf()
  let cleanDelta = deltaCleaner()
  let status: Status = atRest
  /** Lines that end in a backslash, and go on. */
  let begun = ''
  /** What this person has typed: the terminal has shown it already. */
  const typed: string[] = []
  let midLine = false
  /** The last thing on the screen is where one writes, and nothing was written there yet. */
  let asked = false
  let open = true

  function write(text: string) {
    if (!text || !open) return
    output.write(asked ? `\n${text}` : text)
    asked = false
    midLine = !text.endsWith('\n')
  }

  function line(text: string) {
    write(`${midLine ? '\n' : ''}${text}\n`)
  }

  /** Something can be said. */
  function ask() {
    if (asked) return
    write(midLine ? '\n> ' : '> ')
    midLine = false
    asked = open
  }

  function hear(text: string) {
    asked = false
    if (text.endsWith('\\')) {
      begun += `${text.slice(0, -1)}\n`
      return
    }
    const said = begun + text
    begun = ''
    if (!said.trim()) return ask()
    typed.push(cleanText(said))
    if (typed.length > 100) typed.shift()
    person.say(said)
  }

  function interrupt() {
    if (status.busy && !status.stopping) person.stop()
    else person.leave()
  }

  function tell({ event, at }: Entry) {
    const call = calls.take(event, at)
    if (event.type === 'text') return write(cleanDelta(event.text))
    if (event.type === 'input' && event.mode !== 'correct') return echo(cleanText(textOf(event.message)))
    if (event.type === 'round-start' || event.type === 'round-retract') cleanDelta = deltaCleaner()
    const words = call ? callWords(call, event, at) : otherWords(event)
    if (words) line(words)
    if (event.type === 'round-end' && midLine) write('\n')
  }

  function echo(said: string) {
    const own = typed.indexOf(said)
    if (own === -1) line(`> ${said}`)
    else typed.splice(own, 1)
    if (status.busy) line('(queued)')
  }

  reader.on('line', hear)
  const leave = () => person.leave()
  reader.on('close', leave)
  // It stays heard: what is written after that fails as well.
  output.on('error', leave)
  process.on('SIGINT', interrupt)

  return {
    recall(entries, earlier) {
      if (earlier) line('(there is more before this: /export writes it all)')
      for (const entry of entries) tell(entry)
      ask()
    },
    tell,
    update(next) {
      const before = status
      status = next
      const { question } = next
      if (question && question.callId !== before.question?.callId) {
        const { name, input, reason } = question
        line(`? ${clip(spelledLine(`${name} ${JSON.stringify(input)}`), 2000)}`)
        if (reason) line(`  ${spelledLine(reason)}`)
        line(`  ${replyHelp(question)}`)
        ask()
      } else if (before.busy && !next.busy) ask()
    },
    // The terminal has shown it while it was typed.
    echo() {},
    note(text, kind) {
      line(kind === 'problem' ? `! ${cleanText(text)}` : cleanText(text))
      if (!status.busy) ask()
    },
    suggest: (text) => line(`(to change and send: ${cleanLine(text)})`),
    begin() {
      calls = callsOf()
    },
    close() {
      if (!open) return
      if (midLine || asked) output.write('\n')
      open = false
      process.off('SIGINT', interrupt)
      reader.off('close', leave)
      reader.close()
    },
  }
}

function callWords(call: Call, { type }: ThreadEvent, at: number): string | undefined {
  switch (type) {
    case 'tool-call':
      return `[${call.name}] ${clip(cleanLine(call.input), 200)} …`
    case 'tool-progress':
      return call.note ? `[${call.name}] ${clip(cleanLine(call.note), 200)}` : undefined
    case 'tool-result':
      return `[${call.name}] ${clip(statusOf(call, at), 400)}`
    default:
      return undefined
  }
}

function otherWords(event: ThreadEvent): string | undefined {
  switch (event.type) {
    case 'round-retract':
      return `(once more from the start: ${cleanLine(event.reason)})`
    case 'round-retry':
      return `(trying again: ${cleanLine(event.error.message)})`
    case 'run-end':
      if (event.outcome === 'failed') return `! ${cleanLine(event.error?.message ?? 'failed')}`
      return event.outcome === 'completed' || event.outcome === 'suspended' ? undefined : `(${event.outcome})`
    default:
      return undefined
  }
}
