import type { ApprovalAnswer, Entry, RunRequest, RunStartEvent } from '../protocol/index.ts'
import { isMillraceError, isNewRun } from '../protocol/index.ts'
import type { Thread } from '../threads/index.ts'
import { findLast, readLog } from '../threads/index.ts'
import type { LogView, RunView } from '../view/index.ts'
import { applyEntry, createView } from '../view/index.ts'

// For protocols whose clients do not follow a thread, but get one answer per request.

/** An answer in the log of a thread: one run, with all runs that resume it. */
export interface Answer {
  readonly thread: Thread
  /** The number of the input or `rewind` that it answers, if any. */
  readonly answers: number | undefined
  /** The number of the entry before the first one to read. */
  readonly after: number
  /** The length of the log when the answer was looked up. */
  readonly head: number
}

/** The answer to an input or a `rewind`. */
export async function answerTo(thread: Thread, answers: number): Promise<Answer> {
  const { head } = await thread.info()
  return { thread, answers, after: answers - 1, head }
}

/** The answer that a part of the log up to a number belongs to. */
export async function answerAt(thread: Thread, upTo: number): Promise<Answer | undefined> {
  const start = await findBefore(thread, upTo, ({ event }) => isNewRun(event))
  if (!start) return undefined
  const { inputs = [] } = start.event as RunStartEvent
  const { head } = await thread.info()
  // Messages that steer the run may have been sent before it started.
  return { thread, answers: inputs[0], after: Math.min(start.seq, ...inputs) - 1, head }
}

/** The answer that is expected, in progress or waits for a person; otherwise the last one. */
export async function currentAnswer(thread: Thread): Promise<Answer | undefined> {
  const { status, head, queued } = await thread.state({ bytes: 0 })
  if (status === 'queued' && queued[0]) return answerTo(thread, queued[0].seq)
  const last = await findBefore(thread, head, ({ event }) => isNewRun(event) || event.type === 'rewind')
  if (last?.event.type !== 'rewind') return last && answerAt(thread, last.seq)
  // What was answered before is no longer part of the conversation.
  return last.event.answer ? answerTo(thread, last.seq) : undefined
}

/** Stops the current run if it is the one that answers, or would be. */
export async function stopAnswer({ thread, answers }: Answer, reason: string): Promise<void> {
  const { status, head } = await thread.state({ bytes: 0 })
  if (answers === undefined || (status !== 'running' && status !== 'queued')) return
  const start = await findBefore(thread, head, ({ event }) => isNewRun(event))
  const { inputs = [] } = (start?.event ?? {}) as Partial<RunStartEvent>
  const isQueued = status === 'queued' && inputs.every((seq) => seq < answers)
  if (isQueued || inputs.includes(answers)) await thread.stop(reason)
}

/** Finds the last matching entry of a thread up to a number. */
export function findBefore(
  thread: Pick<Thread, 'id' | 'read'>,
  upTo: number,
  matches: (entry: Entry) => boolean,
): Promise<Entry | undefined> {
  return findLast(logOf(thread), upTo, matches)
}

/** Reads the whole conversation. */
export async function readThread(thread: Pick<Thread, 'id' | 'read'>): Promise<LogView> {
  const view = createView()
  for await (const page of readLog(logOf(thread), { after: 0 }))
    for (const entry of page) applyEntry(view, entry)
  return view
}

export function logOf(thread: Pick<Thread, 'id' | 'read'>) {
  return { threadId: thread.id, store: { read: (_: string, options: object) => thread.read(options) } }
}

/** Whether an input is part of the conversation, and the run that answers it now, if it has started. */
export function placeOf(
  { rows, waiting, open }: LogView,
  input: number,
): { readonly isShown: boolean; readonly run?: RunView | undefined } {
  const at = rows.findIndex(({ kind, seq }) => kind === 'input' && seq === input)
  if (at < 0) return { isShown: waiting.some(({ seq }) => seq === input) }
  const next = rows.find((row, index) => index > at && row.kind !== 'input' && row.kind !== 'notice')
  if (!next || next.kind === 'input' || next.kind === 'notice') return { isShown: true, run: open.run }
  return { isShown: true, run: next.kind === 'end' ? next.run : next.round.run }
}

/** The id of a user's message in the messages of a client that did not send it. */
export function inputId(seq: number): string {
  return `input-${seq}`
}

/**
 * The number of the input for a message's id, if there is one, and the key for the next version of
 * the message: an edited message keeps its id.
 */
export async function inputOf(thread: Thread, id: string, head: number) {
  const [, number] = /^input-(\d{1,15})$/.exec(id) ?? []
  let input = number !== undefined && Number(number) <= head ? Number(number) : undefined
  let key = id
  for (let version = 2; ; version++) {
    const found = await thread.inputOf(key)
    if (found === undefined) return { input, key }
    input = found
    key = `${id}~${version}`
  }
}

/** What a client sends in answer to calls, by the ids of the calls. */
export interface CallAnswers {
  readonly decisions: ReadonlyMap<string, Omit<ApprovalAnswer, 'request'>>
  readonly results: ReadonlyMap<string, { readonly output: unknown; readonly isError: boolean }>
}

/**
 * Applies the decisions and results that a thread waits for. Everything else is ignored. `request`
 * replaces the request of the run.
 */
export async function answerCalls(
  thread: Thread,
  { decisions, results }: CallAnswers,
  request?: RunRequest,
): Promise<void> {
  if (decisions.size + results.size === 0) return
  const { approvals } = await thread.state({ bytes: 0 })
  const answered = approvals.filter(({ callId, wants }) => (wants ? results : decisions).has(callId))
  for (const { callId, wants } of answered) {
    const decision = decisions.get(callId)
    const result = results.get(callId)
    const more = callId === answered.at(-1)?.callId ? { request } : {}
    try {
      if (wants && result) await thread.respond(callId, result.output, { isError: result.isError, ...more })
      else if (decision) await thread.approve(callId, { ...decision, ...more })
    } catch (error) {
      // Another client was first.
      if (!isMillraceError(error) || error.code !== 'conflict') throw error
    }
  }
}

/**
 * What a server accepts of what came with a message, and its `metadata`. Undefined if nothing is
 * left.
 */
export function acceptedRequest(
  request: RunRequest,
  clientOptions: ReadonlySet<keyof RunRequest>,
): RunRequest | undefined {
  const accepted = Object.entries(request).filter(
    ([name]) => name === 'metadata' || clientOptions.has(name as keyof RunRequest),
  )
  return accepted.length > 0 ? Object.fromEntries(accepted) : undefined
}
