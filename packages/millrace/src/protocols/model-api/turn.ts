import type { ApprovalRequestEvent, Entry, Outcome, RunRequest } from '../../protocol/index.ts'
import type { Thread } from '../../threads/index.ts'
import { readLog } from '../../threads/index.ts'
import type { Change } from '../../view/index.ts'
import { applyEntry, createView } from '../../view/index.ts'
import { logOf } from '../answers.ts'
import { compactText } from './history.ts'

/** A point at which a response ended: the run was complete, or waited for something. */
export interface Cut {
  /** The number of the `run-end`. */
  readonly seq: number
  readonly outcome: Outcome
  /** The text of the answer so far without whitespace, and the same with what was retracted. */
  readonly text: string
  readonly streamed: string
  /** The text of the last round: all that a client gets of a structured answer. */
  readonly lastText: string
  /** The client's calls that waited for a result, and the server's that waited for approval. */
  readonly waiting: readonly ApprovalRequestEvent[]
  readonly approvals: readonly ApprovalRequestEvent[]
}

/** The end of a text: what a client has that knows the answer up to here. */
interface Mark {
  readonly seq: number
  /** The text of the answer so far, without whitespace. */
  readonly text: string
}

/** A message of the user, and everything up to the next one. */
export interface Turn {
  /** The number of the first run that answers the message, if one has started. */
  readonly run: number | undefined
  readonly cuts: readonly Cut[]
  readonly marks: readonly Mark[]
  /** The ids of all its calls. */
  readonly calls: ReadonlySet<string>
  /** The text so far, and whether a run is in progress or expected. */
  readonly text: string
  readonly isOpen: boolean
  /** The numbers of the results and decisions for its calls, by the ids of the calls. */
  readonly decided: ReadonlyMap<string, number>
  /** What came with the message, or with the last result. */
  readonly request: RunRequest | undefined
  /** Whether another message follows. */
  readonly hasNext: boolean
}

/** Reads the turn of a message, by the number of its input. */
export async function readTurn(thread: Thread, input: number): Promise<Turn> {
  const view = createView({ keep: 'round' })
  const cuts: Cut[] = []
  const marks: Mark[] = []
  const calls = new Set<string>()
  const decided = new Map<string, number>()
  let text = ''
  let streamed = ''
  let lastTextAt = 0
  let atRoundStart = { text: '', marks: 0 }
  let run: number | undefined
  let request: RunRequest | undefined
  let isOpen = true
  let hasNext = false

  function fold(change: Change, { seq, event }: Entry) {
    if ('request' in event && event.request) request = event.request
    if (event.type === 'approval' && !decided.has(event.callId)) decided.set(event.callId, seq)
    if (event.type === 'rewind' && event.before < seq) {
      // The message is answered again.
      text = streamed = ''
      cuts.length = marks.length = 0
      run = undefined
      isOpen = event.answer === true
    }
    if (event.type === 'stop') isOpen = false
    if (change.closed?.kind === 'text') marks.push({ seq: lastTextAt, text })
    if (change.round?.retracted) {
      text = atRoundStart.text
      marks.length = atRoundStart.marks
    } else if (change.round && !change.round.end) atRoundStart = { text, marks: marks.length }
    if (change.call) calls.add('callId' in event ? event.callId : change.call.callId)
    if (change.text?.kind === 'text') {
      lastTextAt = seq
      const delta = compactText(change.delta)
      text += delta
      streamed += delta
    }
    if (change.run) foldRun(change, seq)
  }

  function foldRun({ run: changed }: Change, seq: number) {
    const { outcome, calls } = changed as NonNullable<Change['run']>
    isOpen = outcome === undefined
    if (isOpen && run === undefined) run = seq
    if (outcome === undefined) return
    const requests = (outcome === 'suspended' ? calls : []).flatMap(({ approvals }) =>
      approvals.flatMap(({ request, decision }) => (decision ? [] : [request])),
    )
    const waiting = requests.filter(({ wants }) => wants)
    const lastText = text.slice(atRoundStart.text.length)
    cuts.push({
      seq,
      outcome,
      text,
      streamed,
      lastText,
      waiting,
      approvals: requests.filter(({ wants }) => !wants),
    })
  }

  for await (const page of readLog(logOf(thread), { after: input - 1 }))
    for (const entry of page) {
      const { seq, event } = entry
      hasNext ||= seq > input && event.type === 'input' && event.mode !== 'correct'
      if (hasNext) return done()
      fold(applyEntry(view, entry), entry)
    }
  return done()

  function done(): Turn {
    return { run, cuts, marks, calls, text, isOpen, decided, request, hasNext }
  }
}
