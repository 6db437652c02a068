import type { DoneEvent, JsonObject, JsonValue, ModelEvent } from '../../protocol/index.ts'
import { isObject, MillraceError, parseArguments, toJson, toolCall } from '../../protocol/index.ts'
import { definedCounts } from '../wire/usage-kinds.ts'
import { blocks } from './blocks.ts'
import { checkEnding, endingOf, finishOf, isBroken, metadataOf, usageOf } from './finish.ts'
import { base64 } from './media.ts'

/** Reads the stream parts of one answer and pushes model events into a list. */
export interface PartReader {
  /** Reads one part. Throws our error if the SDK reports one, or if the answer cannot continue. */
  read(part: unknown): void
  /** The last event, once it is known. Later parts are ignored. */
  readonly done: DoneEvent | undefined
  /** The provider continues when it gets back its partial answer: Anthropic's `pause_turn`. */
  readonly paused: boolean
}

export interface PartReaderOptions {
  readonly provider: string
  /** The names of the tools that we run. */
  readonly toolNames: ReadonlySet<string>
  /** Converts an error reported in the stream to ours. */
  readonly failure: (reported: unknown) => MillraceError
}

export function partReader(
  events: ModelEvent[],
  { provider, toolNames, failure }: PartReaderOptions,
): PartReader {
  const textBlocks = blocks(events, provider)
  /**
   * Calls that have started and are not complete, and whether any of their arguments were emitted.
   */
  const openCalls = new Map<string, { hasInput: boolean }>()
  const metadata: Record<string, JsonValue> = {}
  const sources: JsonValue[] = []
  const files: JsonValue[] = []
  /**
   * Calls that the SDK reported as complete. If a stream breaks or is cut off, providers report
   * unfinished calls the same way; only the next part shows which it was.
   */
  let pending: Call[] = []
  let called = false
  let customCount = 0
  let searches = 0

  function startCall(callId: string, name: string) {
    openCalls.set(callId, { hasInput: false })
    events.push({ type: 'tool-input-start', callId, name })
  }

  function emitInput(callId: string, delta: string) {
    const call = openCalls.get(callId)
    if (!call || !delta) return
    call.hasInput = true
    events.push({ type: 'tool-input', callId, delta })
  }

  /** Only `tool-call` closes a call: `tool-input-end` also comes if the arguments broke off. */
  function readCall(part: Fields) {
    const callId = text(part.toolCallId)
    const name = text(part.toolName)
    // A JSON string by the specification; some v2 providers send the object.
    const raw = typeof part.input === 'string' ? part.input : (JSON.stringify(part.input) ?? '')
    const opaque = metadataOf(part.providerMetadata)
    textBlocks.interrupt()
    if (part.providerExecuted === true) {
      // The stream continues, so the calls before it are complete and come first.
      closeCalls(pending)
      pending = []
      const { input, problem } = parseArguments(raw)
      const given = problem === undefined ? input : raw
      return emitProviderTool('tool-call', { callId, name, input: given }, opaque)
    }
    if (!openCalls.has(callId)) startCall(callId, name)
    if (!openCalls.get(callId)?.hasInput) emitInput(callId, raw)
    pending.push({ callId, name, raw, ...(opaque && { opaque: { provider, data: opaque } }) })
  }

  function closeCalls(calls: readonly Call[]) {
    for (const call of calls) {
      called = true
      openCalls.delete(call.callId)
      events.push(toolCall(call))
    }
  }

  function readResult(part: Fields) {
    const event = {
      callId: text(part.toolCallId),
      name: text(part.toolName),
      output: toJson(part.result),
      ...(part.isError === true && { isError: true }),
    }
    // A preview: the result to send back comes later.
    if (part.preliminary === true) return void events.push({ type: 'provider-tool', ...event })
    textBlocks.interrupt()
    if (isOpenAISearch(part.result)) searches++
    emitProviderTool('tool-result', event, metadataOf(part.providerMetadata))
  }

  /** Converted back in `prompt.ts`. */
  function emitProviderTool(
    type: 'tool-call' | 'tool-result' | 'custom',
    event: { callId: string; name: string; input?: JsonValue; output?: JsonValue; isError?: boolean },
    providerMetadata: JsonObject | undefined,
  ) {
    const data = { type, ...(providerMetadata && { providerMetadata }) }
    events.push({ type: 'provider-tool', ...event, opaque: { provider, data } })
  }

  function finish(part: Fields) {
    const ending = endingOf(part.finishReason)
    const reported = usageOf(part.usage)
    const usage = { ...definedCounts({ webSearches: searches }), ...reported }
    const last = pending.at(-1)
    // If the answer was cut off, the last call may be incomplete: it is if it has no arguments (for
    // which Anthropic's provider sends `{}`), or arguments that cannot be parsed.
    const cut = ending.unified === 'length' || ending.unified === 'content-filter'
    if (cut && last && (/^\s*(\{\s*\}\s*)?$/.test(last.raw) || toolCall(last).problem !== undefined))
      pending.pop()
    if (!isBroken(ending)) closeCalls(pending)
    pending = []
    checkEnding(ending, { provider, usage: reported, called })
    textBlocks.close()
    answer.paused = ending.raw === 'pause_turn' && !called
    const ofProvider = metadataOf(part.providerMetadata)
    const reason = finishOf(ending, called)
    if (reason === 'other' && ending.raw !== undefined) metadata.finishReason = ending.raw
    if (sources.length > 0) metadata.sources = sources
    if (files.length > 0) metadata.files = files
    if (ofProvider) metadata.provider = ofProvider
    answer.done = {
      type: 'done',
      finish: reason,
      ...(Object.keys(usage).length > 0 && { usage }),
      ...(Object.keys(metadata).length > 0 && { metadata }),
    }
  }

  const answer = {
    done: undefined as DoneEvent | undefined,
    paused: false,
    read(part: unknown) {
      if (!isObject(part)) return
      const id = text(part.id)
      if (!inconclusive.has(part.type)) {
        closeCalls(pending)
        pending = []
      }
      switch (part.type) {
        case 'text-delta':
          return textBlocks.delta('text', id, text(part.delta), part.providerMetadata)
        case 'reasoning-delta':
          return textBlocks.delta('reasoning', id, text(part.delta), part.providerMetadata)
        case 'tool-input-delta':
          return emitInput(id, text(part.delta))
        case 'text-start':
          return textBlocks.start('text', id, part.providerMetadata)
        case 'text-end':
          return textBlocks.end('text', id, part.providerMetadata)
        case 'reasoning-start':
          return textBlocks.start('reasoning', id, part.providerMetadata)
        case 'reasoning-end':
          return textBlocks.end('reasoning', id, part.providerMetadata)
        case 'tool-input-start': {
          const name = text(part.toolName)
          if (part.providerExecuted === true)
            return void events.push({ type: 'provider-tool', callId: id, name })
          // OpenAI's `computer` starts without that flag and turns out to be the provider's only
          // with the call, so unknown tools wait for their call.
          if (toolNames.has(name)) startCall(id, name)
          return
        }
        case 'tool-call':
          return readCall(part)
        case 'tool-result':
          return readResult(part)
        case 'custom': {
          // A provider item that must be sent back, such as OpenAI's compaction. It has only
          // metadata.
          const name = text(part.kind)
          // Anthropic sends this in every answer, for early token counts; it is not sent back.
          if (name === 'anthropic.message_start') return
          textBlocks.interrupt()
          const callId = `${name}_${++customCount}`
          return emitProviderTool('custom', { callId, name }, metadataOf(part.providerMetadata))
        }
        case 'tool-approval-request':
          throw new MillraceError({
            op: 'model.stream',
            code: 'llm_error',
            message: `${provider} asks for approval before it runs one of its own tools, which is not supported: configure that tool to run without approval`,
          })
        case 'source':
          return void sources.push(withoutType(part))
        case 'file':
        case 'reasoning-file':
          return void files.push(fileOf(part))
        case 'stream-start':
          if (Array.isArray(part.warnings) && part.warnings.length > 0)
            metadata.warnings = toJson(part.warnings)
          return
        case 'response-metadata':
          if (part.id !== undefined) metadata.id = toJson(part.id)
          if (part.modelId !== undefined) metadata.model = toJson(part.modelId)
          return
        case 'finish':
          return finish(part)
        case 'error':
          throw failure(part.error)
        // `tool-input-end`, `raw`, `ping` and future types are ignored.
      }
    },
  }
  return answer
}

type Fields = Readonly<Record<string, unknown>>

/** A call as it was emitted. */
type Call = Parameters<typeof toolCall>[0]

/** Parts that do not show whether the calls before them are complete. */
const inconclusive: ReadonlySet<unknown> = new Set(['tool-call', 'tool-input-end', 'raw', 'finish', 'error'])

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function withoutType({ type: _, ...source }: Fields): JsonValue {
  return toJson(source)
}

/**
 * A generated file. Plain data before v4, `{ type: 'data', data }` or `{ type: 'url', url }` since.
 */
function fileOf({ mediaType, data: given }: Fields): JsonValue {
  if (isObject(given) && 'url' in given) return toJson({ mediaType, url: String(given.url) })
  const data = isObject(given) && 'data' in given ? given.data : given
  return toJson({ mediaType, data: data instanceof Uint8Array ? base64(data) : data })
}

/** The result of OpenAI's web search. Its usage does not count searches, as Anthropic's does. */
function isOpenAISearch(result: unknown): boolean {
  return isObject(result) && isObject(result.action) && result.action.type === 'search'
}
