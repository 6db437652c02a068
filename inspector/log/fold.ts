import type { Entry } from 'millrace/client'
import { foldCall, isCallEvent } from './fold-call.ts'
import { addText, beginRound, endRound, hearRound, retractRound, retryRound } from './fold-round.ts'
import { beginRun, endRun } from './fold-run.ts'
import { changed, closeText, count, keyOf, noUsage, pushNotice } from './parts.ts'
import type { Log, SaidRow } from './types.ts'

export function emptyLog({ inner = false } = {}): Log {
  return {
    entries: [],
    rows: [],
    waiting: [],
    runs: [],
    head: 0,
    usage: noUsage,
    version: 0,
    open: { inner, run: undefined, round: undefined, text: undefined, calls: new Map(), rowsFrom: 0 },
  }
}

/** Takes the next entry. Costs the same however long the log is. */
export function take(log: Log, entry: Entry): void {
  log.entries.push(entry)
  log.head = entry.seq
  changed(log)
  const { run } = log.open
  if (run) {
    run.lastSeq = entry.seq
    changed(run).lastAt = entry.at
  }
  if (isCallEvent(entry.event)) foldCall(log, entry, entry.event, innerLog)
  else fold(log, entry)
}

const innerLog = { make: () => emptyLog({ inner: true }), take }

function fold(log: Log, { seq, at, event }: Entry): void {
  switch (event.type) {
    case 'input': {
      const { message, mode } = event
      if (mode !== 'correct') {
        const said: SaidRow = {
          kind: 'said',
          key: keyOf(log, seq),
          version: 0,
          seq,
          at,
          message,
          // What a microphone hears interrupts whatever there is, which may be nothing.
          mode: mode === 'interrupt' && statusOf(log) === 'idle' ? 'queue' : mode,
          run: undefined,
          held: false,
        }
        return void (log.open.inner ? log.rows : log.waiting).push(said)
      }
      const text = 'The agent asked for a better answer.'
      return pushNotice(log, { notice: 'correction', seq, at, text, detail: textOf(message) })
    }
    case 'stop':
      // The end of the run tells the reason.
      for (const said of log.waiting) changed(said).held = true
      return
    case 'run-start':
      return beginRun(log, { seq, at, event })
    case 'round-start':
      return beginRound(log, { seq, at, event })
    case 'text':
    case 'reasoning':
      return addText(log, { seq, at, event })
    case 'part-end':
      return closeText(log)
    case 'heard':
      return hearRound(log, { seq, at, event })
    case 'round-retry':
      return retryRound(log, { seq, at, event })
    case 'round-retract':
      return retractRound(log, { seq, at, event })
    case 'round-end':
      return endRound(log, { at, seq, event })
    case 'summary': {
      count(log, event.usage)
      const text = `Earlier messages (${event.replaces}) were summed up for the model.`
      return pushNotice(log, { notice: 'summary', seq, at, text, detail: textOf(event.message) })
    }
    case 'run-end':
      return endRun(log, { seq, at, event })
  }
}

/** What a message says in words. */
export function textOf({ content }: SaidRow['message']): string {
  if (typeof content === 'string') return content
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

/** `queued`: something was said that is answered soon. `waiting`: for a person. */
export function statusOf(log: Log): 'idle' | 'queued' | 'running' | 'waiting' {
  if (log.open.run) return 'running'
  if (log.runs.at(-1)?.outcome === 'suspended') return 'waiting'
  return log.waiting.some(({ held }) => !held) ? 'queued' : 'idle'
}
