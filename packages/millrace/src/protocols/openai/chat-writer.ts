import type { ErrorJson, Usage } from '../../protocol/index.ts'
import { httpError } from '../http-error.ts'
import type { AnswerCall, AnswerEnd, AnswerWriter } from '../model-api/answer-writer.ts'
import { approvalWords } from '../model-api/approval-words.ts'
import { runFailure } from '../model-api/run-failure.ts'
import { errorFrame, openaiError } from './errors.ts'

// The server's own calls are not shown: clients such as `runTools` of OpenAI's SDK fail on calls of
// tools that they do not have.

interface ChatFields {
  readonly id: string
  /** As the client has named it. */
  readonly model: string
}

/** Writes a completion as a stream of chunks. `withUsage`: the last chunk has the usage. */
export function chatChunks({
  id,
  model,
  withUsage,
}: ChatFields & { readonly withUsage: boolean }): AnswerWriter {
  const tail = `},"logprobs":null,"finish_reason":null}]${withUsage ? ',"usage":null' : ''}}\n\n`
  let fields = ''
  let head = ''
  const text = { head: '', isEmpty: true, isNewRound: true }
  const reasoning = { head: '', isEmpty: true, isNewRound: true }
  /** The calls that the client has, in the order of their indexes. */
  const shown: string[] = []
  /** How many of them are from earlier rounds, which are never retracted. */
  let kept = 0
  let hasFailed = false

  function delta(kind: 'text' | 'reasoning', delta: string): string {
    const part = kind === 'text' ? text : reasoning
    if (part.isNewRound) return firstDelta(part, delta)
    return `${part.head}${JSON.stringify(delta)}${tail}`
  }

  /** The text of another round is another paragraph. */
  function firstDelta(part: typeof text, delta: string): string {
    const paragraph = part.isEmpty ? delta : `\n\n${delta}`
    part.isEmpty = part.isNewRound = false
    return `${part.head}${JSON.stringify(paragraph)}${tail}`
  }

  function wholeCall(callId: string, name: string, args: string): string {
    const call = {
      index: shown.push(callId) - 1,
      id: callId,
      type: 'function',
      function: { name, arguments: args },
    }
    return `${head}"tool_calls":[${JSON.stringify(call)}]${tail}`
  }

  function fail(error: ErrorJson): string {
    hasFailed = true
    const { status = 500, code, message } = runFailure(error)
    return errorFrame(openaiError({ status, code, message }))
  }

  function finish(end: AnswerEnd): string {
    // What was streamed as content cannot become a refusal.
    const isFiltered = end.finish === 'refusal' && !text.isEmpty
    const refusal = end.finish === 'refusal' && !isFiltered ? { refusal: refused } : {}
    const reason = isFiltered ? 'content_filter' : finishOf(end)
    const choice = { index: 0, delta: refusal, logprobs: null, finish_reason: reason }
    const none = withUsage ? ',"usage":null' : ''
    const usage = withUsage ? `${fields},"choices":[],"usage":${JSON.stringify(usageOf(end.usage))}}\n\n` : ''
    return `${fields},"choices":[${JSON.stringify(choice)}]${none}}\n\n${usage}data: [DONE]\n\n`
  }

  return {
    start(_seq, at) {
      const common = { id, object: 'chat.completion.chunk', created: Math.floor(at / 1000), model }
      fields = `data: ${JSON.stringify({ ...common, ...noTier }).slice(0, -1)}`
      head = `${fields},"choices":[{"index":0,"delta":{`
      text.head = `${head}"content":`
      reasoning.head = `${head}"reasoning_content":`
      return `${head}"role":"assistant","content":"","refusal":null${tail}`
    },
    roundStart() {
      text.isNewRound = reasoning.isNewRound = true
      kept = shown.length
      return ''
    },
    delta: (kind, text) => (hasFailed ? '' : delta(kind, text)),
    closePart: nothing,
    callStart: ({ callId, name, isClient }) => (isClient && !hasFailed ? wholeCall(callId, name, '') : ''),
    callDelta({ callId, isClient }, delta) {
      if (!isClient || hasFailed) return ''
      const index = shown.lastIndexOf(callId)
      return `${head}"tool_calls":[{"index":${index},"function":{"arguments":${JSON.stringify(delta)}}}]${tail}`
    },
    callComplete: nothing,
    callResult: nothing,
    callVoid: nothing,
    approvalRequest: nothing,
    // A call cannot be taken back: the client would run it as well as the one that replaces it.
    retract: () => (shown.length > kept && !hasFailed ? fail(retracted) : ''),
    end(end) {
      if (hasFailed) return ''
      if (end.outcome === 'failed' || end.outcome === 'canceled') return fail(end.error ?? stopped)
      const words = approvalWords(end.approvals)
      text.isNewRound = true
      return (words && delta('text', words)) + finish(end)
    },
  }
}

/**
 * Writes a completion as one object, which `result` returns after the end. `isJson`: the text of
 * earlier rounds is left out, since clients parse the content.
 */
export function chatCompletion({
  id,
  model,
  isJson,
}: ChatFields & { readonly isJson: boolean }): AnswerWriter & {
  result(): object
} {
  const rounds = { text: [''], reasoning: [''] }
  const calls = new Map<string, AnswerCall>()
  let created = 0
  let ended: AnswerEnd | undefined

  function messageOf({ finish, waiting, approvals }: AnswerEnd) {
    const said = rounds.text.filter(Boolean)
    const content = [...(isJson ? said.slice(-1) : said), approvalWords(approvals)]
      .filter(Boolean)
      .join('\n\n')
    const isRefusal = finish === 'refusal'
    const reasoning = rounds.reasoning.filter(Boolean).join('\n\n')
    const called = waiting.map(({ callId, name, input }) => ({
      id: callId,
      type: 'function',
      function: { name, arguments: calls.get(callId)?.arguments || JSON.stringify(input) },
    }))
    return {
      role: 'assistant',
      content: isRefusal || (content === '' && called.length > 0) ? null : content,
      refusal: isRefusal ? content || refused : null,
      annotations: [],
      ...(reasoning && { reasoning_content: reasoning }),
      ...(called.length > 0 && { tool_calls: called }),
    }
  }

  return {
    start(_seq, at) {
      created = Math.floor(at / 1000)
      return ''
    },
    roundStart() {
      rounds.text.push('')
      rounds.reasoning.push('')
      return ''
    },
    delta(kind, delta) {
      rounds[kind][rounds[kind].length - 1] += delta
      return ''
    },
    closePart: nothing,
    callStart(call) {
      calls.set(call.callId, call)
      return ''
    },
    callDelta: nothing,
    callComplete: nothing,
    callResult: nothing,
    callVoid: nothing,
    approvalRequest: nothing,
    retract() {
      rounds.text.pop()
      rounds.reasoning.pop()
      return ''
    },
    end(end) {
      ended = end
      return ''
    },
    result() {
      const end = ended as AnswerEnd
      // Not a status that the SDKs retry: a person has stopped the run.
      if (end.outcome === 'canceled') throw httpError(499, 'stream_interrupted', stopped.message)
      const choice = { index: 0, message: messageOf(end), logprobs: null, finish_reason: finishOf(end) }
      const usage = usageOf(end.usage)
      return { id, object: 'chat.completion', created, model, choices: [choice], usage, ...noTier }
    },
  }
}

const nothing = () => ''
const noTier = { service_tier: 'default', system_fingerprint: null }
/** Some models refuse without a word. */
const refused = 'The model refused to answer.'

const op = 'thread.run'
const stopped: ErrorJson = {
  op,
  code: 'stream_interrupted',
  message: 'the run was stopped',
  retryable: false,
}
const retracted: ErrorJson = {
  op,
  code: 'stream_error',
  message: 'the answer was interrupted after a tool call had been sent: send a new request',
  retryable: true,
}

function finishOf({
  outcome,
  finish,
  waiting,
}: AnswerEnd): 'stop' | 'length' | 'tool_calls' | 'content_filter' {
  if (waiting.length > 0) return 'tool_calls'
  if (outcome === 'max-rounds' || outcome === 'budget' || outcome === 'truncated' || finish === 'length')
    return 'length'
  return finish === 'content-filter' ? 'content_filter' : 'stop'
}

function usageOf({ inputTokens, outputTokens, reasoningTokens, cacheReadTokens, cacheWriteTokens }: Usage) {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: {
      cached_tokens: cacheReadTokens,
      cache_write_tokens: cacheWriteTokens,
      audio_tokens: 0,
    },
    completion_tokens_details: {
      reasoning_tokens: reasoningTokens,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
}
