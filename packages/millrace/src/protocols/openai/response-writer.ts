import type { JsonObject, PublicError, RunRequest } from '../../protocol/index.ts'
import { withStatus } from '../http-error.ts'
import type { AnswerCall, AnswerEnd, AnswerWriter } from '../model-api/index.ts'
import { runFailure } from '../model-api/index.ts'
import { openaiError } from './errors.ts'
import type { ResponsePlace } from './response-ids.ts'
import { approvalId, itemId } from './response-ids.ts'
import type { ItemStatus } from './response-items.ts'
import {
  approvalItem,
  functionCallItem,
  mcpCallItem,
  messageItem,
  outputText,
  reasoningItem,
  summaryText,
} from './response-items.ts'
import type { ResponseObject, ResponseState, ResponseStatus } from './response-object.ts'
import { approvalsIn, responseObject, storedIn } from './response-object.ts'

/** How many numbers each entry of the log has for its frames. */
export const framesPerEntry = 32

/** An event, since Codex does not count comments as a sign of life. Other clients ignore it. */
export const keepalive = 'event: keepalive\ndata: {"type":"keepalive","sequence_number":0}\n\n'

export interface ResponseWriter extends AnswerWriter {
  /** The response as far as it has come. */
  result(): ResponseObject
  /** Nothing runs anymore. A response that has not ended was canceled. */
  endUnstarted(): void
  /** The frame to send if the stream ends before the response does. */
  fail(error: PublicError): string
}

export interface ResponseWriterOptions {
  readonly id: string
  readonly place: ResponsePlace
  readonly agent: string
  readonly request: RunRequest | undefined
  /** For a client that resumes: frames up to this number are left out. */
  readonly startingAfter?: number | undefined
}

interface Item {
  readonly index: number
  readonly id: string
  /** The item as it is now. */
  readonly json: (status: ItemStatus) => JsonObject
  status: ItemStatus
  isDone: boolean
  /** Left out of the response: it was retracted, or its call will never run. */
  isVoid: boolean
}

const kinds = {
  text: {
    prefix: 'msg',
    itemOf: messageItem,
    partOf: outputText,
    part: 'content_part',
    text: 'output_text',
    at: { content_index: 0 },
    more: { logprobs: [] },
  },
  reasoning: {
    prefix: 'rs',
    itemOf: reasoningItem,
    partOf: summaryText,
    part: 'reasoning_summary_part',
    text: 'reasoning_summary_text',
    at: { summary_index: 0 },
    more: {},
  },
} as const

/** Writes a response as the events of OpenAI's Responses API, and as one object. */
export function responseWriter(options: ResponseWriterOptions): ResponseWriter {
  const { id, place, agent, request, startingAfter = -1 } = options
  const approvals = approvalsIn(request)
  const items: Item[] = []
  const calls = new Map<AnswerCall, Item>()
  let state: Omit<ResponseState, 'output' | 'status'> = { id, agent, request, createdAt: 0 }
  let status: ResponseStatus = 'queued'
  /** The number of the last frame, sent or left out. */
  let last = 0
  let hasRounds = false
  /** The index of the first item of the round. */
  let roundStart = 0
  /** The open text or reasoning. */
  let open: { readonly item: Item; readonly content: { text: string | undefined } } | undefined
  /** The frame of its next delta, up to the delta. */
  let deltaHead = ''

  /** Numbers come from the log, so they are the same in every process. */
  function nextNumber(seq: number): number {
    const first = seq * framesPerEntry
    last = Math.min(Math.max(last + 1, first), first + framesPerEntry - 1)
    return last
  }

  /**
   * What opens or closes a text is numbered after the frame before, and not by its own entry: deltas
   * may arrive joined, and only the number of the last one is then known.
   */
  function lastEntry(): number {
    return Math.floor(last / framesPerEntry)
  }

  function frame(seq: number, event: string, fields: object): string {
    const number = nextNumber(seq)
    if (number <= startingAfter) return ''
    const type = `response.${event}`
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number, ...fields })}\n\n`
  }

  /** A frame about an item. */
  function about(seq: number, { id: item_id, index }: Item, event: string, fields: object = {}): string {
    return frame(seq, event, { item_id, output_index: index, ...fields })
  }

  function result(): ResponseObject {
    const output = items.filter(({ isVoid }) => !isVoid).map((item) => item.json(item.status))
    return responseObject({ ...state, status, output })
  }

  function lifecycle(seq: number, event: string, changed: ResponseStatus): string {
    status = changed
    return frame(seq, event, { response: result() })
  }

  function addItem(seq: number, newItem: string, json: Item['json']) {
    const item: Item = {
      index: items.length,
      id: newItem,
      json,
      status: 'in_progress',
      isDone: false,
      isVoid: false,
    }
    items.push(item)
    status = 'in_progress'
    const added = frame(seq, 'output_item.added', { output_index: item.index, item: json('in_progress') })
    return { item, added }
  }

  function newId(prefix: string): string {
    return itemId(prefix, place, items.length)
  }

  function finish(seq: number, item: Item, as: ItemStatus): string {
    if (item.isDone) return ''
    item.isDone = true
    item.status = as
    return frame(seq, 'output_item.done', { output_index: item.index, item: item.json(as) })
  }

  function openPart(kind: keyof typeof kinds): string {
    const { prefix, itemOf, partOf, part, text, at, more } = kinds[kind]
    const seq = lastEntry()
    const partItem = newId(prefix)
    const content: { text: string | undefined } = { text: undefined }
    const { item, added } = addItem(seq, partItem, (as) => itemOf(partItem, content.text, as))
    content.text = ''
    open = { item, content }
    const type = `response.${text}.delta`
    const fields = { type, item_id: partItem, output_index: item.index, ...at, ...more }
    deltaHead = `event: ${type}\ndata: ${JSON.stringify(fields).slice(0, -1)},"delta":`
    return added + about(seq, item, `${part}.added`, { ...at, part: partOf('') })
  }

  return {
    result,

    start(seq, at) {
      state = { ...state, createdAt: at }
      const isQueued = storedIn(request)?.background === true
      const created = lifecycle(seq, 'created', isQueued ? 'queued' : 'in_progress')
      const inProgress = lifecycle(seq, 'in_progress', 'in_progress')
      status = 'queued'
      return created + inProgress
    },

    roundStart() {
      status = 'in_progress'
      hasRounds = true
      roundStart = items.length
      return ''
    },

    delta(kind, delta, seq) {
      const opened = open ? '' : openPart(kind)
      const { content } = open as NonNullable<typeof open>
      content.text += delta
      const number = nextNumber(seq)
      if (number <= startingAfter) return opened
      return `${opened}${deltaHead}${JSON.stringify(delta)},"sequence_number":${number}}\n\n`
    },

    closePart(kind) {
      if (!open) return ''
      const { item, content } = open
      const { text = '' } = content
      const { partOf, part, text: event, at, more } = kinds[kind]
      open = undefined
      const seq = lastEntry()
      return (
        about(seq, item, `${event}.done`, { ...at, ...more, text }) +
        about(seq, item, `${part}.done`, { ...at, part: partOf(text) }) +
        finish(seq, item, 'completed')
      )
    },

    callStart(call, seq) {
      const callItem = newId(call.isClient ? 'fc' : 'mcp')
      const approval = hasRounds ? undefined : approvals.get(call.callId)
      const { item, added } = addItem(seq, callItem, (as) =>
        call.isClient ? functionCallItem(callItem, call, as) : mcpCallItem(callItem, call, as, approval),
      )
      calls.set(call, item)
      return call.isClient ? added : added + about(seq, item, 'mcp_call.in_progress')
    },

    callDelta(call, delta, seq) {
      return about(seq, itemOf(call), `${argumentsOf(call)}.delta`, { delta })
    },

    callComplete(call, seq) {
      const item = itemOf(call)
      const complete = about(seq, item, `${argumentsOf(call)}.done`, { arguments: call.arguments })
      return call.isClient ? complete + finish(seq, item, 'completed') : complete
    },

    callResult(call, seq) {
      const item = itemOf(call)
      const as = call.result?.isError ? 'failed' : 'completed'
      return about(seq, item, `mcp_call.${as}`) + finish(seq, item, as)
    },

    callVoid(call, seq) {
      const item = itemOf(call)
      item.isVoid = true
      return finish(seq, item, 'incomplete')
    },

    approvalRequest({ callId, name, input }, seq) {
      const requestId = approvalId(place, callId)
      const { item, added } = addItem(seq, requestId, () => approvalItem(requestId, name, input))
      return added + finish(seq, item, 'completed')
    },

    retract(seq) {
      open = undefined
      let frames = ''
      for (const item of items.slice(roundStart)) {
        item.isVoid = true
        frames += finish(seq, item, 'incomplete')
      }
      return frames
    },

    end(end, seq, at) {
      const { outcome, usage } = end
      state = { ...state, usage }
      if (outcome === 'failed') {
        state = { ...state, error: failureOf(end) }
        return lifecycle(seq, 'failed', 'failed')
      }
      // There is no event for it, but a status.
      if (outcome === 'canceled') return lifecycle(seq, 'incomplete', 'cancelled')
      const incompleteReason = incompleteReasonOf(end)
      if (incompleteReason !== undefined) {
        state = { ...state, incompleteReason }
        return lifecycle(seq, 'incomplete', 'incomplete')
      }
      state = { ...state, completedAt: at }
      return lifecycle(seq, 'completed', 'completed')
    },

    endUnstarted() {
      if (isOpen(status)) status = 'cancelled'
    },

    fail(error) {
      const fields = {
        type: 'error',
        sequence_number: last,
        error: openaiError(withStatus(undefined, error)),
      }
      return `event: error\ndata: ${JSON.stringify(fields)}\n\n`
    },
  }

  function itemOf(call: AnswerCall): Item {
    return calls.get(call) as Item
  }
}

/** Whether a response can still grow. */
export function isOpen(status: ResponseStatus): boolean {
  return status === 'queued' || status === 'in_progress'
}

function argumentsOf({ isClient }: AnswerCall): string {
  return isClient ? 'function_call_arguments' : 'mcp_call_arguments'
}

function incompleteReasonOf({ outcome, finish }: AnswerEnd): string | undefined {
  if (outcome === 'truncated') return 'max_output_tokens'
  if (outcome === 'max-rounds' || outcome === 'budget') return 'max_messages'
  return finish === 'content-filter' ? 'content_filter' : undefined
}

function failureOf({ error }: AnswerEnd): JsonObject {
  if (!error) return { code: 'server_error', message: 'The run failed.' }
  const { status = 500, code, message } = runFailure(error)
  return { code: openaiError({ status, code, message }).code ?? 'server_error', message }
}
