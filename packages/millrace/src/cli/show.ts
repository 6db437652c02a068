import { styleText } from 'node:util'
import type { Entry, ThreadEvent } from '../protocol/index.ts'
import { limitText, sleep, systemClock, textOf } from '../protocol/index.ts'
import type { Thread } from '../threads/index.ts'
import { applyEntry, createView } from '../view/index.ts'
import type { CommandLine } from './args.ts'
import { approvalQuestion, resultRequest } from './ask-approval.ts'
import { wantsColor } from './colors.ts'
import { currentParts, partOf } from './current-parts.ts'
import { exitCodes } from './exit-codes.ts'
import type { Interruption } from './interrupts.ts'
import { onInterrupt } from './interrupts.ts'
import { jsonLine } from './json-lines.ts'
import { missingThreadId, openThread } from './open-threads.ts'
import type { Output } from './output.ts'
import { plainView } from './plain-view.ts'
import { cleanLine, cleanText } from './terminal/index.ts'

/** Days may pass between two runs. Longer pauses are cut to this. */
const maxGapMs = 2000

/** Replays a thread: at once, or at its original speed. */
export async function showThread({ words, flags }: CommandLine, output: Output): Promise<number> {
  const [id] = words
  if (id === undefined) throw missingThreadId('show')
  const { app, thread } = await openThread(flags, id)
  const leaving = new AbortController()
  let interruption: Interruption | undefined
  onInterrupt((why) => {
    interruption = why
    leaving.abort()
  })
  let before: number | undefined
  try {
    const parts = flags.json || flags.pace ? undefined : await readParts(thread)
    const show = flags.json ? (entry: Entry) => output.print(jsonLine(entry)) : entryPrinter(output, parts)
    for await (const entry of allEntries(thread, { split: flags.pace === true })) {
      const gapMs = Math.min(maxGapMs, entry.at - (before ?? entry.at))
      before = entry.at
      if (flags.pace && gapMs > 0) await sleep(gapMs, { clock: systemClock, signal: leaving.signal })
      if (interruption || output.closed.aborted) break
      show(entry)
      await output.drained()
    }
    return interruption?.exit ?? exitCodes.ok
  } finally {
    await app.close()
  }
}

async function* allEntries(thread: Thread, { split }: { split: boolean }): AsyncGenerator<Entry, void> {
  for (let after = 0; ; ) {
    const page = await thread.read({ after, split })
    if (page.length === 0) return
    yield* page
    after = page.at(-1)?.seq ?? after
  }
}

/** The parts of the current conversation; undefined if nothing in the log was replaced. */
async function readParts(thread: Thread): Promise<ReadonlySet<number> | undefined> {
  const view = createView()
  for await (const entry of allEntries(thread, { split: false })) applyEntry(view, entry)
  return view.versions.size > 0 ? currentParts(view) : undefined
}

/** Prints messages, answers and notes, all to stdout; if `parts` is given, only those parts. */
function entryPrinter(output: Output, parts: ReadonlySet<number> | undefined): (entry: Entry) => void {
  const color = wantsColor(process.stdout)
  const styled = (format: 'dim' | 'cyan', text: string) =>
    color ? styleText(format, text, { validateStream: false }) : text
  const note = (line: string) => output.print(`${styled('dim', line)}\n`)
  const newView = () => plainView({ print: output.print, note, interleaved: true })
  const log = createView({ keep: 'round' })
  let view = newView()
  let first = true

  function line(text: string) {
    view.end()
    output.print(`${first ? '' : '\n'}${text}\n`)
    first = false
  }

  return (entry) => {
    const { event } = entry
    const change = applyEntry(log, entry)
    if (parts && !parts.has(partOf(change) ?? 0)) return
    if (event.type === 'input') {
      const text = cleanText(textOf(event.message)).trim() || '(no text)'
      line(`${styled('cyan', 'you ›')} ${text}\n`)
      view = newView()
      return
    }
    view.take(change)
    const note = eventNote(event)
    if (note) line(styled('dim', note))
    else if (event.type === 'run-end') view.end()
  }
}

/** The line for an event between paragraphs. */
function eventNote(event: ThreadEvent): string | undefined {
  if (event.type === 'rewind') return '(went back in the conversation)'
  switch (event.type) {
    case 'approval-request':
      return event.wants ? `(${resultRequest(event)})` : `(waiting for approval: ${approvalQuestion(event)})`
    case 'approval':
      if (event.output) return undefined
      return `(${event.approved ? 'approved' : 'denied'}${event.remember ? ` ${event.remember.for === 'thread' ? 'in this thread' : 'always'}` : ''}${event.reason ? `: ${cleanLine(event.reason)}` : ''})`
    case 'run-end': {
      if (event.limit) return `(${limitText(event.limit)})`
      const why = event.error ? `: ${cleanLine(event.error.message)}` : ''
      const isExpected = event.outcome === 'completed' || event.outcome === 'suspended'
      return isExpected ? undefined : `(${event.outcome}${why})`
    }
    default:
      return undefined
  }
}
