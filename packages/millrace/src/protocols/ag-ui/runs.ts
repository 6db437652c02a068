import type { Entry, JsonValue, UserMessage } from '../../protocol/index.ts'
import { invalidInput, isMillraceError, mergePatch, readPatch, textOf } from '../../protocol/index.ts'
import type { Thread } from '../../threads/index.ts'
import type { Answer } from '../answers.ts'
import {
  acceptedRequest,
  answerAt,
  answerCalls,
  currentAnswer,
  findBefore,
  inputOf,
  placeOf,
  readThread,
} from '../answers.ts'
import { derivedId, findThread } from '../derived-id.ts'
import type { Disconnects } from '../disconnect.ts'
import { httpError } from '../http-error.ts'
import type { Caller, ClientOptions, FoundThread } from '../protocol.ts'
import type { AgUiMessage } from './messages.ts'
import { readHistory, userMessage } from './messages.ts'
import type { RunEvents, RunEventsOptions } from './run-events.ts'
import { runEvents, sentWith } from './run-events.ts'
import type { RunInput } from './run-input.ts'
import { mergePatchTo } from './state.ts'

/** An answer as a run of AG-UI. */
export interface AgUiRun extends Answer {
  readonly events: RunEvents
}

export interface RunsOptions {
  readonly clientOptions: ClientOptions
  readonly readers: Disconnects
}

/**
 * Runs of AG-UI as answers in threads. The thread is the truth: only what is new in the messages of
 * a client counts. Returns undefined for a conversation that has not started.
 */
export function agUiRuns({ clientOptions, readers }: RunsOptions) {
  /** A server that does not know the conversation starts with the client's history. */
  async function create(caller: Caller, agent: string, id: string, input: RunInput) {
    const { messages: posted, answers, state } = input
    if (posted.length === 0 && answers.decisions.size === 0) return undefined
    if (posted.at(-1)?.role !== 'user' || answers.decisions.size > 0)
      throw httpError(404, 'not_found', 'this conversation is not known here: send a new message')
    const { messages, keys } = readHistory(posted)
    const request = acceptedRequest(input.request, clientOptions(agent))
    const metadata = state === undefined ? undefined : mergePatch({}, { state })
    const { thread } = await caller.createThread({ id, agent, messages, keys, request, metadata })
    return runOf(thread, input, { answers: await thread.inputOf(keys.at(-1) as string) })
  }

  /** Continues a run that waits, or shows again how it continued. */
  async function continueRun({ thread, info }: FoundThread, input: RunInput) {
    const { answers, messages } = input
    const { decisions, results } = answers
    if (decisions.size + results.size === 0) return undefined
    const last = messages.at(-1) as AgUiMessage | undefined
    const isAnswered = ({ event }: Pick<Entry, 'event'>) =>
      event.type === 'approval-request' && (event.wants ? results : decisions).has(event.callId)
    const { approvals } = await thread.state({ bytes: 0 })
    const isPending = approvals.some((event) => isAnswered({ event }))
    if (!isPending && last?.role === 'user') return undefined
    const asked = await findBefore(thread, info.head, isAnswered)
    if (!asked && decisions.size > 0)
      throw invalidInput('agUi', `nothing waits for the interrupt '${[...decisions.keys()].join("', '")}'`)
    const answer = asked && (await answerAt(thread, asked.seq))
    if (!answer) return undefined
    if (!isPending)
      return runOf(thread, input, { ...answer, continueAfter: await endAfter(thread, asked.seq) })
    readers.keep(thread.id)
    const request = acceptedRequest(input.request, clientOptions(info.agent))
    const message = last?.role === 'user' ? userMessage(last) : undefined
    await readState({ thread, info }, input)()
    // The next round of the run that continues reads it.
    if (message) await thread.send(message, { mode: 'steer', key: last?.id, request })
    await answerCalls(thread, answers, message ? undefined : request)
    return runOf(thread, input, { ...answer, continueAfter: info.head })
  }

  /** Checks the state of the client. The returned function makes it the state of the thread. */
  function readState({ thread, info: { metadata = {} } }: FoundThread, { state }: RunInput) {
    const patch = state === undefined ? undefined : mergePatchTo(metadata.state, state)
    const read = patch !== undefined && readPatch({ state: patch }, metadata, 'agUi')
    return async () => void (read && (await thread.updateMetadata(read)))
  }

  async function sendLast(found: FoundThread, input: RunInput) {
    const { thread, info } = found
    const last = input.messages.at(-1) as AgUiMessage
    const message = userMessage(last)
    const updateState = readState(found, input)
    const { input: seq, key } = await inputOf(thread, last.id, info.head)
    const again = seq === undefined ? undefined : await answerAgain(found, input, seq, message)
    if (again) return again
    if (seq === undefined) await dropReplaced(found, input)
    await updateState()
    await readers.stopNow(thread.id)
    const { status } = await thread.info()
    const answers = await thread.send(message, {
      key,
      // Otherwise it would wait for a decision of the user, who writes a message instead.
      mode: input.mode ?? (status === 'waiting' ? 'interrupt' : 'queue'),
      request: acceptedRequest(input.request, clientOptions(info.agent)),
    })
    return runOf(thread, input, { answers })
  }

  /**
   * The message is known: the same request again gets the same answer. A client that has removed the
   * answer wants another one. Returns undefined for a message that was edited.
   */
  async function answerAgain(
    { thread, info }: FoundThread,
    input: RunInput,
    seq: number,
    message: UserMessage,
  ) {
    const view = await readThread(thread)
    const { isShown, run } = placeOf(view, seq)
    if (!isShown) return undefined
    const shown = [...view.rows, ...view.waiting].find((row) => row.kind === 'input' && row.seq === seq)
    if (shown?.kind === 'input' && textOf(shown.message) !== textOf(message)) {
      await thread.rewind(seq)
      return undefined
    }
    const answer = run && (await answerAt(thread, run.seq))
    const [sent] = answer ? await thread.read({ after: (answer.answers ?? 1) - 1, limit: 1 }) : []
    const isSame = sent && sentWith(sent.event).runId === input.runId
    const isOpen = !run?.outcome || run.outcome === 'suspended'
    // A client that was cut off sends the request again under another id.
    if (!run || !answer || isOpen || isSame || readers.isDue(thread.id))
      return runOf(thread, input, { answers: seq, ...answer })
    const request = acceptedRequest(input.request, clientOptions(info.agent))
    return runOf(thread, input, { answers: await thread.rewind(run.seq, { request }) })
  }

  /**
   * A client that edits a message gives it another id. The messages that were in its place are those
   * that were sent over this protocol after the one before it. Others may be unknown to the client.
   */
  async function dropReplaced({ thread, info }: FoundThread, { messages }: RunInput) {
    const before = messages.findLast(({ role }, index) => role === 'user' && index < messages.length - 1)
    const { input: place } = before ? await inputOf(thread, before.id, info.head) : {}
    // Of two clients that write at the same time, none edits.
    const isBusy = info.status === 'running' || info.status === 'queued'
    if (place === undefined || (isBusy && !readers.isDue(thread.id))) return
    const isReplaced = ({ seq, event }: Entry) => {
      const { messageId } = event.type === 'input' ? sentWith(event) : {}
      return seq > place && messageId !== undefined && !messages.some(({ id }) => id === messageId)
    }
    const replaced: number[] = []
    for (let upTo = info.head; ; ) {
      // Most messages follow the last one.
      const found = await findBefore(thread, upTo, (entry) => entry.seq <= place || isReplaced(entry))
      if (!found || found.seq <= place) break
      replaced.push(found.seq)
      upTo = found.seq - 1
    }
    const view = replaced.length > 0 ? await readThread(thread) : undefined
    const first = view && replaced.findLast((seq) => placeOf(view, seq).isShown)
    if (first !== undefined) await thread.rewind(first)
  }

  async function attach({ thread }: FoundThread, input: RunInput) {
    const answer = await currentAnswer(thread)
    return runOf(thread, input, { answers: answer?.answers, after: 0, isAttached: true })
  }

  async function run(caller: Caller, agent: string, input: RunInput): Promise<AgUiRun | undefined> {
    const id = await derivedId('ag-ui', caller.user, agent, input.threadId)
    const found = await findThread(caller, input.threadId, id)
    if (!found) return create(caller, agent, id, input)
    if (found.info.agent !== agent)
      throw httpError(
        400,
        'invalid_input',
        `this thread belongs to the agent '${found.info.agent}', not to '${agent}'`,
      )
    const isNew = input.messages.at(-1)?.role === 'user'
    return (await continueRun(found, input)) ?? (isNew ? sendLast(found, input) : attach(found, input))
  }

  return async (caller: Caller, agent: string, input: RunInput): Promise<AgUiRun | undefined> => {
    try {
      return await run(caller, agent, input)
    } catch (error) {
      // Another request has created the thread in the meantime.
      if (isMillraceError(error) && error.code === 'conflict') return run(caller, agent, input)
      throw error
    }
  }
}

type Place = Pick<RunEventsOptions, 'answers' | 'continueAfter' | 'isAttached'> & { readonly after?: number }

async function runOf(thread: Thread, input: RunInput, place: Place): Promise<AgUiRun> {
  const { head, metadata } = await thread.info()
  const { answers, after = (answers ?? 1) - 1, ...more } = place
  const { threadId, runId, isCurrent, messages: posted } = input
  const state = metadata?.state as JsonValue | undefined
  const options = { threadId, runId, isCurrent, posted, answers, head, state }
  const { continueAfter, isAttached } = more
  return { thread, answers, after, head, events: runEvents({ ...options, continueAfter, isAttached }) }
}

/** The number of the first end of a run after an entry. */
async function endAfter(thread: Thread, seq: number): Promise<number> {
  for (let after = seq; ; ) {
    const page = await thread.read({ after })
    const end = page.find(({ event }) => event.type === 'run-end')
    if (end) return end.seq
    const last = page.at(-1)
    if (!last) return seq
    after = last.seq
  }
}
