import type { RunRequest, ToolMessage, UserMessage } from '../../protocol/index.ts'
import { isMillraceError, toolContent } from '../../protocol/index.ts'
import type { Thread } from '../../threads/index.ts'
import { acceptedRequest, answerAt, currentAnswer, findBefore } from '../answers.ts'
import { derivedId, findThread } from '../derived-id.ts'
import type { Disconnects } from '../disconnect.ts'
import { httpError } from '../http-error.ts'
import type { Caller, FoundThread, ProtocolHost } from '../protocol.ts'
import { decisionIn } from './approval-words.ts'
import type { History } from './history.ts'
import { hashOf, historyKeys, readHistory } from './history.ts'
import type { ModelRequest, Place } from './model-request.ts'
import { anyRetryKey } from './retry-key.ts'
import type { Cut, Turn } from './turn.ts'
import { readTurn } from './turn.ts'

export interface ConversationsOptions {
  readonly clientOptions: ProtocolHost['clientOptions']
  readonly readers: Disconnects
}

/** Where a request continues a thread: after a cut of the turn, or at the end of the thread. */
interface Position {
  readonly found: FoundThread
  readonly turn: Turn | undefined
  readonly cut: Cut | undefined
}

/**
 * Requests of clients that send whole conversations, or name what they continue. The log is the
 * truth: a conversation that contradicts it starts a thread of its own.
 */
export function conversations({ clientOptions, readers }: ConversationsOptions) {
  const inOrder = taskQueues()

  async function send(caller: Caller, asked: ModelRequest): Promise<Place> {
    const { agent, continues, threadName } = asked
    const history = readHistory(asked.messages)
    const { message, results } = history
    const isCutOff = !message && results.length === 0 && !asked.decisions?.size
    if (isCutOff && history.answered === undefined)
      throw httpError(400, 'invalid_input', 'the last message must be from the user, or the result of a tool')
    const request = acceptedRequest(withRetryKey(asked), clientOptions(agent))
    const more = { caller, asked, history, request }
    const continueIn = (found: FoundThread, after?: number) =>
      inOrder(found.thread.id, () => continueThread(more, found, after))
    if (continues) return continueIn(continues.found, continues.after)
    if (threadName !== undefined) {
      const id = await derivedId('model-api', caller.user, threadName)
      const found = await findThread(caller, threadName, id)
      return found ? continueIn(found) : create(more, await keysOf(more), id)
    }
    const keys = await keysOf(more)
    if (isCutOff) return resumeAnswer(more, keys)
    return (await findSent(more, keys.at(-1))) ?? (await findPrefix(more, keys)) ?? create(more, keys)
  }

  interface Sending {
    readonly caller: Caller
    readonly asked: ModelRequest
    readonly history: History
    readonly request: RunRequest | undefined
  }

  /** The answer to the same request, if the client sends it again. */
  async function findSent({ caller, asked }: Sending, key: string | undefined): Promise<Place | undefined> {
    const { retryKey, agent } = asked
    // Most requests are new, and many conversations may start with the same message.
    if (key === undefined || (retryKey === undefined && !readers.isDue())) return undefined
    for (const { thread, info, input } of await caller.findInputs(key)) {
      // Some clients do not say that they send a request again, but do so right after a cut.
      const isDue = readers.isDue(thread.id)
      if (info.agent !== agent || (retryKey === undefined && !isDue)) continue
      const turn = await readTurn(thread, input)
      const isSame = retryKey === anyRetryKey || turn.request?.metadata?.retryKey === retryKey
      if (!isSame && !isDue) continue
      const place = await resumeTurn(thread, turn, () => placeAfterInput(thread, input))
      if (place) return place
    }
    return undefined
  }

  /** A place in a turn that the client has not left. If its run was lost, it is answered again. */
  async function resumeTurn(
    thread: Thread,
    { cuts, isOpen, hasNext, run }: Turn,
    place: () => Place | Promise<Place>,
  ): Promise<Place | undefined> {
    readers.keep(thread.id)
    const { outcome } = cuts.at(-1) ?? {}
    const isLost = !isOpen && (outcome === 'failed' || outcome === 'canceled')
    if (!isLost) return place()
    if (hasNext || run === undefined) return undefined
    return placeAfterInput(thread, await thread.rewind(run))
  }

  /**
   * Continues an answer after the part that the client has: Codex sends the items that were complete
   * when its stream was cut.
   */
  async function resumeAnswer(sending: Sending, keys: readonly (string | undefined)[]): Promise<Place> {
    const { caller, asked, history } = sending
    const { answered = 0, answer } = history
    for (const { thread, info, input } of await caller.findInputs(keys[answered] ?? '')) {
      if (info.agent !== asked.agent) continue
      const turn = await readTurn(thread, input)
      const mark = turn.marks.find(({ text }) => text === answer)
      const place = mark && (await resumeTurn(thread, turn, () => placeAfterAnswer(thread, mark.seq)))
      if (place) return place
    }
    // A part of an answer that is not known here: the message is answered again.
    return send(caller, { ...asked, messages: history.messages.slice(0, answered + 1) })
  }

  /** Continues the thread that has the conversation, if there is one. */
  async function findPrefix(sending: Sending, keys: readonly (string | undefined)[]) {
    const { caller, asked, history } = sending
    const key = history.answered === undefined ? undefined : keys[history.answered]
    if (key === undefined) return undefined
    for (const { thread, info, input } of await caller.findInputs(key)) {
      if (info.agent !== asked.agent) continue
      const place = await inOrder(thread.id, async () => {
        const turn = await readSettledTurn(thread, input, history)
        const match = matchAnswer(turn, history)
        const found = { thread, info }
        return match && continueAt(sending, { found, turn, cut: match.cut }, keys.at(-1))
      })
      if (place) return place
    }
    return undefined
  }

  /** A client that was cut off may send results before the run waits for them. */
  async function readSettledTurn(
    thread: Thread,
    input: number,
    { results, message }: History,
  ): Promise<Turn> {
    const turn = await readTurn(thread, input)
    if (!turn.isOpen || results.length === 0 || message) return turn
    readers.keep(thread.id)
    const { head: after } = await thread.info()
    for await (const _ of thread.follow({ after, until: 'idle' }));
    return readTurn(thread, input)
  }

  /** Continues a thread that the client names: after a response, or at its end. */
  async function continueThread(sending: Sending, found: FoundThread, after?: number): Promise<Place> {
    const { thread } = found
    if (found.info.agent !== sending.asked.agent)
      throw httpError(
        400,
        'invalid_input',
        `this conversation belongs to the model '${found.info.agent}', not to '${sending.asked.agent}'`,
        { param: 'model' },
      )
    const answer = after === undefined ? await currentAnswer(thread) : await answerBefore(thread, after)
    const turn = answer?.answers === undefined ? undefined : await readTurn(thread, answer.answers)
    const last = turn?.isOpen ? undefined : turn?.cuts.at(-1)
    const cut = after === undefined ? last : turn?.cuts.find(({ seq }) => seq > after)
    const { retryKey } = sending.asked
    const isNamed = retryKey !== undefined && retryKey !== anyRetryKey
    const key = isNamed
      ? await hashOf(JSON.stringify([retryKey, after, sending.history.messages]))
      : undefined
    if (key !== undefined) {
      const again = await thread.inputOf(key)
      if (again !== undefined) return placeAfterInput(thread, again)
    }
    return continueAt(sending, { found, turn, cut }, key, { isTip: after === undefined })
  }

  async function continueAt(
    sending: Sending,
    position: Position,
    key: string | undefined,
    { isTip = false } = {},
  ): Promise<Place> {
    const { turn, cut } = position
    const { history, caller, asked } = sending
    const { thread } = position.found
    if (history.message) await readers.stopNow(thread.id)
    else readers.keep(thread.id)
    const again = turn && sentAnswers(turn, [...resultIds(history), ...(asked.decisions?.keys() ?? [])])
    if (again !== undefined && !history.message) return placeAfterAnswer(thread, again)
    const isCurrent = isTip || !turn || (!turn.hasNext && (cut === undefined || cut === turn.cuts.at(-1)))
    if (isCurrent) return sendTo(sending, thread, cut, turn, key, { isTip })
    const fork = await caller.forkThread(position.found, cut?.seq ?? position.found.info.head)
    return sendTo(sending, fork.thread, cut, turn, key)
  }

  /** Answers what the thread waits for, and sends the message. */
  async function sendTo(
    { history, asked, request }: Sending,
    thread: Thread,
    cut: Cut | undefined,
    turn: Turn | undefined,
    key: string | undefined,
    { isTip = false } = {},
  ): Promise<Place> {
    const { message } = history
    const { waiting = [], approvals = [] } = cut?.outcome === 'suspended' ? cut : {}
    const results = new Map(history.results.map((result) => [result.callId, result]))
    const reply = message && approvals.length > 0 ? decisionIn(message) : undefined
    const decide = (callId: string) => asked.decisions?.get(callId) ?? reply
    // A client that was cut off may not know all calls.
    const isKnown = (callId: string) => history.calls?.has(callId) ?? true
    const missing = waiting.find(({ callId }) => !results.has(callId) && isKnown(callId))
    if (missing && (!message || results.size > 0)) throw unanswered(missing)
    // A client that runs tools by itself sends their results, whatever else is waited for.
    const decided = approvals.filter(({ callId }) => decide(callId))
    const answered = missing ? [] : [...waiting.filter(({ callId }) => results.has(callId)), ...decided]
    if (answered.length === 0) {
      if (message) return sendMessage(thread, message, { key, request }, isTip)
      if (approvals[0]) throw unanswered(approvals[0])
      // Results of calls that the server has answered itself: there is nothing left to say.
      return placeAfterEnd(thread, cut)
    }
    // A message that comes with the results steers the run: the next round reads it.
    if (message && !reply) await thread.send(message, { mode: 'steer', key, request })
    const changed = JSON.stringify(request) === JSON.stringify(turn?.request) ? undefined : request
    let start = 0
    for (const asking of answered) {
      const { callId } = asking
      const more = { request: asking === answered.at(-1) ? changed : undefined }
      const { approved, reason } = decide(callId) ?? { approved: true, reason: undefined }
      start = asking.wants
        ? await respond(thread, results.get(callId) as ToolMessage, more)
        : await thread.approve(callId, { approved, reason, ...more })
    }
    return placeAfterAnswer(thread, start)
  }

  async function sendMessage(
    thread: Thread,
    message: UserMessage,
    options: { readonly key: string | undefined; readonly request: RunRequest | undefined },
    isTip: boolean,
  ): Promise<Place> {
    const { status } = await thread.info()
    // What waits belongs to an answer that the client has left behind, and so does what runs, unless
    // the client only names the thread: then another client may read it.
    const isLeft = status === 'waiting' || (status === 'running' && !isTip)
    const mode = isLeft ? 'interrupt' : 'queue'
    return placeAfterInput(thread, await thread.send(message, { ...options, mode }))
  }

  function keysOf({ caller, asked, history }: Sending) {
    return historyKeys(history.messages, caller.user, asked.agent)
  }

  async function create(
    { caller, asked: { agent }, history: { messages }, request }: Sending,
    keys: readonly (string | undefined)[],
    id?: string,
  ): Promise<Place> {
    const { thread, info } = await caller.createThread({ id, agent, messages, keys, request })
    const key = keys.at(-1)
    const input = key === undefined ? undefined : await thread.inputOf(key)
    // A conversation that ends with results is answered after its last entry.
    return placeAfterInput(thread, input ?? info.head)
  }

  return {
    async send(caller: Caller, asked: ModelRequest): Promise<Place> {
      try {
        return await send(caller, asked)
      } catch (error) {
        // Another request has created the thread in the meantime.
        if (isMillraceError(error) && error.code === 'conflict') return send(caller, asked)
        throw error
      }
    },
    place,
  }
}

/**
 * Runs tasks with the same name one after the other: between reading a thread and sending to it,
 * another request of this process must not send something else.
 */
function taskQueues() {
  const last = new Map<string, Promise<unknown>>()
  return async <Result>(name: string, task: () => Promise<Result>): Promise<Result> => {
    const before = last.get(name)
    const result = before ? before.then(task, task) : task()
    last.set(name, result)
    try {
      return await result
    } finally {
      if (last.get(name) === result) last.delete(name)
    }
  }
}

/** The place of the response that starts after an entry. Undefined if no response does. */
async function place(thread: Thread, start: number): Promise<Place | undefined> {
  const [entry] = await thread.read({ after: start - 1, limit: 1 })
  const type = entry?.event.type
  if (type === undefined) return undefined
  return type === 'input' || type === 'rewind' || type === 'run-end'
    ? placeAfterInput(thread, start)
    : placeAfterAnswer(thread, start)
}

function placeAfterInput(thread: Thread, start: number): Place {
  return { thread, start, after: start - 1, answers: start }
}

/** The run continues: it is read from its start. */
async function placeAfterAnswer(thread: Thread, start: number): Promise<Place> {
  const answer = await answerAt(thread, start)
  return { thread, start, after: answer?.after ?? start - 1, answers: answer?.answers }
}

async function placeAfterEnd(thread: Thread, cut: Cut | undefined): Promise<Place> {
  const end =
    cut?.seq ??
    (await findBefore(thread, (await thread.info()).head, ({ event }) => event.type === 'run-end'))?.seq
  if (end === undefined)
    throw httpError(400, 'invalid_input', 'there is no call that waits for these results')
  return { thread, start: end, after: end - 1, answers: undefined }
}

async function answerBefore(thread: Thread, start: number) {
  const found = await place(thread, start)
  return found && { answers: found.answers }
}

function withRetryKey({ request, retryKey }: ModelRequest): RunRequest {
  if (retryKey === undefined || retryKey === anyRetryKey) return request
  return { ...request, metadata: { ...request.metadata, retryKey } }
}

/**
 * Where the client's version of an answer ends. A client may also have a part of an answer: one that
 * was stopped, or one that it was cut off from at the end of a text.
 */
function matchAnswer(
  turn: Turn,
  { answer, calls = new Set() }: History,
): { readonly cut: Cut | undefined } | undefined {
  for (const callId of calls) if (!turn.calls.has(callId)) return undefined
  const isStructured = turn.request?.output !== undefined
  const cut = turn.cuts.findLast(
    ({ text, streamed, lastText }) =>
      text === answer || streamed === answer || (isStructured && lastText === answer),
  )
  if (cut) return { cut }
  const last = turn.cuts.at(-1)
  const isPartial =
    turn.isOpen ||
    last?.outcome === 'canceled' ||
    last?.outcome === 'failed' ||
    turn.marks.some(({ text }) => text === answer)
  return isPartial && turn.text.startsWith(answer) ? { cut: turn.isOpen ? undefined : last } : undefined
}

/** The number of the last of these answers, if the thread has all of them. */
function sentAnswers({ decided }: Turn, callIds: readonly string[]): number | undefined {
  const numbers = callIds.flatMap((callId) => decided.get(callId) ?? [])
  return callIds.length > 0 && numbers.length === callIds.length ? Math.max(...numbers) : undefined
}

function resultIds({ results }: History): string[] {
  return results.map(({ callId }) => callId)
}

function respond(
  thread: Thread,
  { callId, content, isError = false }: ToolMessage,
  more: { readonly request: RunRequest | undefined },
): Promise<number> {
  return thread.respond(callId, toolContent(content), { isError, ...more })
}

function unanswered({
  callId,
  wants,
  name,
}: {
  readonly callId: string
  readonly wants?: string
  readonly name: string
}) {
  const message = wants
    ? `No tool output found for function call ${callId}.`
    : `The call ${callId} of '${name}' waits for approval: approve or deny it.`
  return httpError(400, 'invalid_input', message, { param: 'input' })
}
