import { createInterface } from 'node:readline'
import type { Entry } from '../../protocol/index.ts'
import { textOf } from '../../protocol/index.ts'
import type { Change } from '../../view/index.ts'
import { createView, take } from '../../view/index.ts'
import {
  callNote,
  cleanLine,
  cleanText,
  clip,
  deltaCleaner,
  inputOf,
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
  let view = createView({ keep: 'round' })
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

  function tell(entry: Entry) {
    const change = take(view, entry)
    const { text, input, round } = change
    if (text?.kind === 'text') return write(cleanDelta(change.delta))
    if (input) return echo(cleanText(textOf(input.message)))
    if (round && !round.end) cleanDelta = deltaCleaner()
    const words = callWords(change) || otherWords(change)
    if (words) line(words)
    if (round?.end && midLine) write('\n')
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
      view = createView({ keep: 'round' })
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

function callWords({ call, state, progress, inner, entry }: Change): string | undefined {
  if (!call || call.provider) return undefined
  const line = (words: string) => words && `[${cleanLine(call.name)}] ${words}`
  if (progress !== undefined || inner) return line(clip(cleanLine(callNote(call)), 200))
  if (!state) return undefined
  if (call.result) return line(clip(statusOf(call, entry.at), 400))
  // Once: after it was approved it waits for its turn again.
  if (state !== 'queued' || call.approvals.length > 0) return undefined
  return line(`${clip(cleanLine(inputOf(call)), 200)} …`)
}

function otherWords({ round, retry, run }: Change): string | undefined {
  if (retry) return `(trying again: ${cleanLine(retry.error.message)})`
  if (round?.retracted) return `(once more from the start: ${cleanLine(round.retracted.reason)})`
  if (!run?.outcome || run.outcome === 'completed' || run.outcome === 'suspended') return undefined
  return run.outcome === 'failed' ? `! ${cleanLine(run.error?.message ?? 'failed')}` : `(${run.outcome})`
}
