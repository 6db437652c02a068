import type { FinishReason, JsonValue, ModelEvent, Usage } from '../../protocol/index.ts'
import { isObject, MillraceError } from '../../protocol/index.ts'
import { failureOf } from '../wire/failures.ts'
import { field } from '../wire/field.ts'
import { framePattern } from '../wire/pattern.ts'
import type { WireReader } from '../wire/stream.ts'
import { parseFrame } from '../wire/stream.ts'
import { streamError } from '../wire/stream-error.ts'
import type { Fragment } from './call-joiner.ts'
import { callJoiner } from './call-joiner.ts'
import { mergeDetails } from './reasoning-details.ts'
import { readUsage } from './usage.ts'

type Fields = Record<string, unknown>

export interface ChatReaderOptions {
  readonly provider: string
  /** The names of the tools in the request, to recognize when a name is complete. */
  readonly tools: ReadonlySet<string>
  readonly secrets?: readonly string[]
}

/** Reads a stream of `chat.completion.chunk`s, from OpenAI and compatible servers. */
export function chatReader(
  events: ModelEvent[],
  { provider, tools, secrets = [] }: ChatReaderOptions,
): WireReader {
  let calls = callJoiner(events, { provider, tools })
  const pattern = framePattern()
  let finish: FinishReason | undefined
  let rawFinish: string | undefined
  let refused = false
  let usage: Partial<Usage> | undefined
  let id: string | undefined
  /** The ids of the first chunks. Some servers give each chunk its own id. */
  const ids = new Set<string>()
  /** An id was used twice, so ids identify answers, not chunks. */
  let hasOneId = false
  /** The id of the latest chunk with content, and whether chunks with content had different ids. */
  let contentId: string | undefined
  let isMixed = false
  /** The id of a second answer that has started but has no content yet. */
  let pendingId: string | undefined
  let model: string | undefined
  /** The field of the current reasoning. It is sent back in the same field. */
  let reasoningField: string | undefined
  let details: Fields[] = []

  function readChunk(chunk: Fields) {
    const type = field(chunk, 'type')
    if (isFailure(chunk, type)) throw failureOf({ provider, body: chunk, secrets })
    if (typeof type === 'string' && type.startsWith('response.'))
      throw new MillraceError({
        op: 'model.stream',
        code: 'llm_error',
        message: `${provider} uses the Responses API at this address: use openai() instead of openaiChat()`,
      })
    const named = field(chunk, 'model')
    if (typeof named === 'string' && named) model = named
    readUsageOf(chunk)
    const choices = field(chunk, 'choices')
    if (!Array.isArray(choices)) return
    // Only the first choice is used. Azure's prompt filter and the usage come in chunks without
    // choices.
    for (const choice of choices)
      if (isObject(choice) && (field(choice, 'index') ?? 0) === 0)
        return readChoice(choice, field(chunk, 'id'))
  }

  /** A stream may contain two answers if an intermediary resent the request. */
  function checkId(own: unknown, delta: Fields, reason: unknown) {
    // The common case, on the hot path of each delta.
    if (hasOneId && own === contentId && own === id) return
    if (typeof own !== 'string' || own === '') return
    if (hasOneId && own !== contentId && delta.role === 'assistant' && !reason) pendingId = own
    hasOneId ||= ids.has(own)
    if (ids.size < 64) ids.add(own)
    id = own
    // A finish reason closes the open calls, so it must have their id.
    if (!hasContent(delta) && !(reason && calls.called())) return
    if (contentId !== undefined && own !== contentId && own === pendingId) restart()
    isMixed ||= contentId !== undefined && own !== contentId
    contentId = own
  }

  /** Voids everything read so far: it belongs to an answer that was abandoned. */
  function restart() {
    calls = callJoiner(events, { provider, tools })
    finish = rawFinish = contentId = reasoningField = undefined
    refused = false
    details = []
    const what = 'a second answer started before the first had ended'
    events.push({ type: 'restart', reason: `${provider} restarted its answer: ${what}` })
  }

  /** Groq sends usage in `x_groq`, Moonshot inside the choice. */
  function readUsageOf(holder: Fields) {
    const own = field(holder, 'usage')
    const groq = field(holder, 'x_groq')
    const reported = isObject(own) ? own : isObject(groq) && isObject(groq.usage) ? groq.usage : undefined
    if (reported) usage = readUsage(reported)
  }

  function readChoice(choice: Fields, chunkId: unknown) {
    const error = field(choice, 'error')
    if (error) throw failureOf({ provider, body: { error }, secrets })
    readUsageOf(choice)
    // A server that does not really stream sends the whole message once.
    const own = field(choice, 'delta')
    const delta = isObject(own) ? own : isObject(choice.message) ? choice.message : undefined
    const reason = field(choice, 'finish_reason')
    checkId(chunkId, delta ?? noFields, reason)
    if (isMixed && hasOneId) throw streamError(`${provider} sent two answers in one stream`)
    if (delta) readDelta(delta)
    // Some servers send `"null"`.
    if (typeof reason === 'string' && reason !== '' && reason !== 'null') end(reason)
  }

  function readDelta(delta: Fields) {
    readReasoning(delta)
    if (typeof delta.content === 'string') addText(delta.content)
    else if (Array.isArray(delta.content)) readContent(delta.content)
    if (typeof delta.refusal === 'string' && delta.refusal !== '') {
      refused = true
      addText(delta.refusal)
    }
    if (!delta.tool_calls && !delta.function_call) return
    const fragments = fragmentsOf(delta)
    if (fragments.length === 0) return
    endReasoning()
    calls.add(fragments)
  }

  function readReasoning(delta: Fields) {
    if (Array.isArray(delta.reasoning_details)) mergeDetails(details, delta.reasoning_details)
    // `reasoning_content`: DeepSeek, xAI, Alibaba, Moonshot, older vLLM. `reasoning`: Groq,
    // OpenRouter, Ollama, vLLM. Some send both, with the same text.
    const { reasoning_content: older, reasoning } = delta
    if (typeof older === 'string' && older !== '') return addReasoning(older, 'reasoning_content')
    if (typeof reasoning === 'string' && reasoning !== '') return addReasoning(reasoning, 'reasoning')
    // MiniMax sends it only here.
    if (Array.isArray(delta.reasoning_details))
      for (const { text, summary } of delta.reasoning_details.filter(isObject))
        if (typeof (text ?? summary) === 'string') addReasoning(String(text ?? summary), 'reasoning_details')
  }

  /**
   * Mistral:
   * `[{"type":"thinking","thinking":[{"type":"text","text":"…"}]},{"type":"text","text":"…"}]`.
   */
  function readContent(parts: readonly unknown[]) {
    for (const part of parts) {
      if (typeof part === 'string') addText(part)
      if (!isObject(part)) continue
      if (typeof part.text === 'string') addText(part.text)
      if (typeof part.thinking === 'string') addReasoning(part.thinking, 'thinking')
      if (Array.isArray(part.thinking))
        for (const piece of part.thinking)
          if (isObject(piece) && typeof piece.text === 'string') addReasoning(piece.text, 'thinking')
    }
  }

  function addText(text: string) {
    if (text === '') return
    endReasoning()
    events.push({ type: 'text', text })
  }

  function addReasoning(text: string, field: string) {
    if (text === '') return
    reasoningField = field
    events.push({ type: 'reasoning', text })
  }

  function endReasoning() {
    if (reasoningField === undefined && details.length === 0) return
    const data: JsonValue = {
      field: reasoningField ?? 'reasoning_details',
      ...(details.length > 0 && { details: details as never }),
    }
    events.push({ type: 'part-end', part: 'reasoning', opaque: { provider, data } })
    reasoningField = undefined
    details = []
  }

  /** Learns the pattern of a chunk that emitted one event. */
  function learn(data: string, chunk: Fields) {
    const latest = events.at(-1)
    if (!latest) return
    const [key, parentIn] = fieldOf(latest, reasoningField)
    const parent = parentIn(chunk)
    const text = latest.type === 'tool-input' ? latest.delta : 'text' in latest ? latest.text : undefined
    if (!parent || parent[key] !== text) return
    pattern.learn({
      data,
      frame: chunk,
      key,
      valueIn: (frame) => parentIn(frame)?.[key],
      padding: 'obfuscation',
      emit(value) {
        parent[key] = value
        readChunk(chunk)
      },
    })
  }

  function end(reason: string) {
    if (failureReasons.has(reason))
      throw failureOf({
        provider,
        body: { message: `the answer was cut off (${reason})`, type: reason },
        secrets,
      })
    rawFinish = reason
    finish = finishOf(reason.toLowerCase())
    // After a limit or a filter, the open calls are incomplete; after an unknown reason, more may
    // come.
    if (finish === 'stop' || finish === 'tool-calls') calls.closeAll()
  }

  function finishAnswer() {
    if (reader.ended) return
    endReasoning()
    if (finish === undefined) calls.closeWhole()
    else if (finish === 'stop' || finish === 'other') calls.closeAll()
    finish ??= 'stop'
    reader.ended = true
    // `stop`, `eos`, `tool_call`, `null`: whatever the reason, if there are complete calls, they
    // should run.
    const called = calls.called() && (finish === 'stop' || finish === 'other')
    const reason = refused ? 'refusal' : called ? 'tool-calls' : finish
    events.push({
      type: 'done',
      finish: reason,
      ...(usage && { usage }),
      metadata: {
        ...(id !== undefined && { id }),
        ...(model !== undefined && { model }),
        ...(reason === 'other' && rawFinish !== undefined && { finishReason: rawFinish }),
      },
    })
  }

  const reader = {
    ended: false,
    read(data: string, event: string) {
      if (event === '' && pattern.read(data)) return
      const text = data.startsWith('{') ? data : data.trim()
      if (text === '[DONE]') return finishAnswer()
      if (text === '') return
      if (event === 'error') throw failureOf({ provider, body: text, secrets })
      const chunk = parseFrame(text, provider)
      if (!isObject(chunk)) return
      const before = events.length
      readChunk(chunk)
      if (events.length === before + 1 && finish === undefined && pattern.isLearning()) learn(data, chunk)
    },
    end() {
      // Not every server sends `[DONE]`, but without a finish reason the answer may be incomplete.
      if (finish !== undefined) finishAnswer()
    },
  }
  return reader
}

const noFields: Fields = {}

function hasContent(delta: Fields): boolean {
  for (const key in delta) {
    const value = delta[key]
    if (key !== 'role' && value && !(Array.isArray(value) && value.length === 0)) return true
  }
  return false
}

/** The attempt failed. Sent by OpenRouter and Mistral, vLLM, Zhipu, DeepSeek. */
const failureReasons = new Set(['error', 'abort', 'network_error', 'insufficient_system_resource'])

function finishOf(reason: string): FinishReason {
  // Gemini has its own reasons, in several formats: `SAFETY`, `content_filter: PROHIBITED_CONTENT`.
  if (/content_filter|safety|recitation|blocklist|prohibited|spii|^sensitive$/.test(reason))
    return 'content-filter'
  return finishReasons.get(reason) ?? 'other'
}

const finishReasons: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'stop'],
  ['eos', 'stop'],
  ['eos_token', 'stop'],
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['tool_calls', 'tool-calls'],
  ['tool_call', 'tool-calls'],
  ['tool_use', 'tool-calls'],
  ['function_call', 'tool-calls'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['model_length', 'length'],
  ['refusal', 'refusal'],
])

function onlyDelta({ choices }: Fields): Fields | undefined {
  const [choice] = Array.isArray(choices) && choices.length === 1 ? choices : []
  return isObject(choice) && isObject(choice.delta) ? choice.delta : undefined
}

/** Where the text of an event is in its chunk: the key, and how to find the object that has it. */
function fieldOf(
  { type }: ModelEvent,
  reasoningField = '',
): [key: string, holderIn: (chunk: Fields) => Fields | undefined] {
  if (type !== 'tool-input') return [type === 'reasoning' ? reasoningField : 'content', onlyDelta]
  return [
    'arguments',
    (chunk) => {
      const { tool_calls: list } = onlyDelta(chunk) ?? {}
      const [call] = Array.isArray(list) && list.length === 1 ? list : []
      return isObject(call) && isObject(call.function) ? call.function : undefined
    },
  ]
}

/**
 * `{"error":{…}}`, `{"error":"…"}`, vLLM's `{"object":"error","message":…}`, or a bare message with
 * a code.
 */
function isFailure(chunk: Fields, type: unknown): boolean {
  const error = field(chunk, 'error')
  if (isObject(error) || (typeof error === 'string' && error !== '')) return true
  if (field(chunk, 'object') === 'error' || type === 'error') return true
  return (
    field(chunk, 'choices') === undefined && typeof chunk.message === 'string' && chunk.code !== undefined
  )
}

function fragmentsOf(delta: Fields): Fragment[] {
  const { tool_calls: list, function_call: old } = delta
  const fragments = Array.isArray(list) ? list.filter(isObject).map(fragmentOf) : []
  // The old format for a single call: `"function_call":{"name":"…","arguments":"…"}`.
  return isObject(old) ? [...fragments, fragmentOf({ index: 0, function: old })] : fragments
}

function fragmentOf(call: Fields): Fragment {
  const body = isObject(call.function) ? call.function : {}
  const { arguments: written } = body
  return {
    index: typeof call.index === 'number' ? call.index : undefined,
    id: typeof call.id === 'string' ? call.id : '',
    name: typeof body.name === 'string' ? body.name : '',
    // Some servers send the arguments as an object instead of a JSON string, others `null`.
    text: typeof written === 'string' ? written : isObject(written) ? JSON.stringify(written) : '',
    // Gemini 3 rejects a call that is sent back without its thought signature.
    ...(isObject(call.extra_content) && { data: { extra_content: call.extra_content as never } }),
  }
}
