import { styleText } from 'node:util'
import type { Entry, ThreadEvent } from '../protocol/index.ts'
import { invalidInput, sleep, systemClock, textOf } from '../protocol/index.ts'
import type { Thread } from '../threads/index.ts'
import { createView, take } from '../view/index.ts'
import type { CommandLine } from './args.ts'
import { wantsColor } from './colors.ts'
import { questionOf } from './confirm.ts'
import { exitCodes } from './exit-codes.ts'
import type { Ending } from './interrupts.ts'
import { onInterrupt } from './interrupts.ts'
import { jsonLine } from './json-lines.ts'
import type { Output } from './output.ts'
import { plainView } from './plain-view.ts'
import { cleanLine, cleanText } from './terminal/index.ts'
import { threadAt } from './threads-at.ts'

/** Days may lie between two runs: nobody wants to sit through more than this. */
const longestGapMs = 2000

/** Plays a thread back: at once, or as it was told then. */
export async function showThread({ words, flags }: CommandLine, output: Output): Promise<number> {
  const [id] = words
  if (id === undefined)
    throw invalidInput('millrace', 'millrace show takes the id of a thread: millrace threads lists them')
  const { app, thread } = await threadAt(flags.data, id)
  const leaving = new AbortController()
  let ending: Ending | undefined
  onInterrupt((why) => {
    ending = why
    leaving.abort()
  })
  const show = flags.json ? (entry: Entry) => output.say(jsonLine(entry)) : playerOf(output)
  let before: number | undefined
  try {
    for await (const entry of everyEntry(thread, { split: flags.pace === true })) {
      const gapMs = Math.min(longestGapMs, entry.at - (before ?? entry.at))
      before = entry.at
      if (flags.pace && gapMs > 0) await sleep(gapMs, { clock: systemClock, signal: leaving.signal })
      if (ending || output.gone.aborted) break
      show(entry)
      await output.drained()
    }
    return ending?.exit ?? exitCodes.ok
  } finally {
    await app.close()
  }
}

async function* everyEntry(thread: Thread, { split }: { split: boolean }): AsyncGenerator<Entry, void> {
  for (let after = 0; ; ) {
    const page = await thread.read({ after, split })
    if (page.length === 0) return
    yield* page
    after = page.at(-1)?.seq ?? after
  }
}

/** What people said, what was answered, and what happened besides, all on stdout. */
function playerOf(output: Output): (entry: Entry) => void {
  const color = wantsColor(process.stdout)
  const styled = (format: 'dim' | 'cyan', text: string) =>
    color ? styleText(format, text, { validateStream: false }) : text
  const tell = (line: string) => output.say(`${styled('dim', line)}\n`)
  const newView = () => plainView({ say: output.say, tell, onePlace: true })
  const log = createView({ keep: 'round' })
  let view = newView()
  let first = true

  function line(text: string) {
    view.end()
    output.say(`${first ? '' : '\n'}${text}\n`)
    first = false
  }

  return (entry) => {
    const { event } = entry
    const change = take(log, entry)
    if (event.type === 'input') {
      const words = cleanText(textOf(event.message)).trim() || '(no words)'
      line(`${styled('cyan', 'you ›')} ${words}\n`)
      view = newView()
      return
    }
    view.take(change)
    const note = asideOf(event)
    if (note) line(styled('dim', note))
    else if (event.type === 'run-end') view.end()
  }
}

/** What is worth a line between paragraphs. */
function asideOf(event: ThreadEvent): string | undefined {
  switch (event.type) {
    case 'approval-request':
      return `(asks a person: ${questionOf(event)})`
    case 'approval':
      return `(${event.approved ? 'allowed' : 'declined'}${event.remember ? ` ${event.remember.for === 'thread' ? 'in this thread' : 'always'}` : ''}${event.reason ? `: ${cleanLine(event.reason)}` : ''})`
    case 'run-end': {
      const why = event.error ? `: ${cleanLine(event.error.message)}` : ''
      const told = event.outcome === 'completed' || event.outcome === 'suspended'
      return told ? undefined : `(${event.outcome}${why})`
    }
    default:
      return undefined
  }
}
