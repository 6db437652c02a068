import type { AssistantMessage, Entry, Message, RunRequest, ThreadEvent } from '../protocol/index.ts'
import { noUsage, PROTOCOL_VERSION, toolCallsOf } from '../protocol/index.ts'

export interface History {
  readonly agent: string
  /** Paired: every tool call is followed by its result. */
  readonly messages: readonly Message[]
  /** The idempotency keys of user messages, by their index. */
  readonly keys?: readonly (string | undefined)[] | undefined
  /** Holds for the run that answers the last message. */
  readonly request?: RunRequest | undefined
}

/**
 * A conversation as the log of a thread that had it. If it ends with a user message or a tool
 * result, the thread has something to answer.
 */
export function historyLog({ agent, messages, keys = [], request }: History) {
  const entries: Entry[] = []
  const keyed = new Map<string, number>()
  const at = Date.now()
  let waiting: number[] = []
  /** The number of the last round of the current run; undefined outside of a run. */
  let round: number | undefined

  function add(event: ThreadEvent): number {
    entries.push({ seq: entries.length + 1, at, event })
    return entries.length
  }

  function startRun(input: readonly Message[] = []) {
    const runId = `run_${crypto.randomUUID()}`
    const inputs = waiting.length > 0 ? { inputs: waiting } : {}
    add({ type: 'run-start', version: PROTOCOL_VERSION, runId, agent, input, ...inputs })
    waiting = []
    round = 0
  }

  function endRun() {
    if (round !== undefined) add({ type: 'run-end', outcome: 'completed', usage: noUsage })
    round = undefined
  }

  function addAnswer(message: AssistantMessage) {
    if (round === undefined) startRun()
    round = (round ?? 0) + 1
    add({ type: 'round-start', round, model: 'history' })
    for (const part of message.content) {
      if (part.type === 'tool-call' || part.type === 'provider-tool') {
        add(part)
        continue
      }
      const { type, text, opaque } = part
      if (text) add({ type, text })
      add({ type: 'part-end', part: type, ...(opaque && { opaque }) })
    }
    const finish = toolCallsOf(message).length > 0 ? 'tool-calls' : 'stop'
    add({ type: 'round-end', round, model: 'history', finish })
  }

  for (const [index, message] of messages.entries()) {
    const isLast = index === messages.length - 1
    if (message.role === 'assistant') addAnswer(message)
    else if (message.role === 'tool') {
      const { callId, name, content: output, isError = false } = message
      const status = isError ? 'failed' : 'ok'
      add({ type: 'tool-result', callId, name, output, status, isError, ms: 0, overlapMs: 0 })
    } else {
      endRun()
      if (message.role === 'user') {
        // One run answers all of them, and not each one its own.
        if (isLast && waiting.length > 0) {
          startRun()
          endRun()
        }
        const seq = add({ type: 'input', message, mode: 'queue', ...(isLast && request && { request }) })
        waiting.push(seq)
        const key = keys[index]
        if (key !== undefined) keyed.set(`input:${key}`, seq)
      } else {
        // Inputs before it are in the run that names them.
        startRun([message])
        endRun()
      }
    }
  }
  endRun()
  if (messages.at(-1)?.role === 'tool')
    add({
      type: 'rewind',
      before: entries.length + 1,
      keep: messages.length,
      answer: true,
      ...(request && { request }),
    })
  return { entries, keys: keyed }
}
