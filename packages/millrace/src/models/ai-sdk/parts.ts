import type { DoneEvent, JsonObject, JsonValue, ModelEvent } from '../../protocol/index.ts'
import { isObject, MillraceError, parseArguments, toJson, toolCall } from '../../protocol/index.ts'
import { blocks } from './blocks.ts'
import { checkEnding, endingOf, finishOf, isBroken, metadataOf, usageOf } from './finish.ts'
import { base64 } from './media.ts'

/** Understands the parts of one answer, and pushes what they say into the list it was opened with. */
export interface PartReader {
  /** Takes one part. Throws our error if the SDK reports one, or if it cannot be gone on with. */
  read(part: unknown): void
  /** The last event, once it is known; nothing more is read. */
  readonly done: DoneEvent | undefined
  /** The provider wants its own words back and will go on from there: Anthropic's `pause_turn`. */
  readonly paused: boolean
}

export interface PartReaderOptions {
  readonly provider: string
  /** Of the tools that are ours to run. */
  readonly toolNames: ReadonlySet<string>
  /** Makes what the stream reports as an error into ours. */
  readonly failure: (reported: unknown) => MillraceError
}

export function partReader(
  events: ModelEvent[],
  { provider, toolNames, failure }: PartReaderOptions,
): PartReader {
  const said = blocks(events, provider)
  /** Calls that were begun and not closed, and whether any arguments of theirs were told. */
  const begun = new Map<string, { told: boolean }>()
  const metadata: Record<string, JsonValue> = {}
  const sources: JsonValue[] = []
  const files: JsonValue[] = []
  /**
   * Calls that the SDK has told as complete. When a stream breaks off or is cut, providers tell the calls they had begun in the
   * same way; only what comes next shows which it was.
   */
  let held: Call[] = []
  let called = false
  let customs = 0
  let done: DoneEvent | undefined
  let paused = false

  function begin(callId: string, name: string) {
    begun.set(callId, { told: false })
    events.push({ type: 'tool-input-start', callId, name })
  }

  function tellInput(callId: string, delta: string) {
    const call = begun.get(callId)
    if (!call || !delta) return
    call.told = true
    events.push({ type: 'tool-input', callId, delta })
  }

  /** Only this closes a call: `tool-input-end` also comes where the arguments broke off. */
  function call(part: Fields) {
    const callId = text(part.toolCallId)
    const name = text(part.toolName)
    // A JSON string by the specification; some providers of v2 give the object.
    const raw = typeof part.input === 'string' ? part.input : (JSON.stringify(part.input) ?? '')
    const opaque = metadataOf(part.providerMetadata)
    said.interrupt()
    if (part.providerExecuted === true) {
      // It goes on, so those before it are complete, and stand before it.
      close(held)
      held = []
      const { input, problem } = parseArguments(raw)
      const given = problem === undefined ? input : raw
      return tellProviderTool('tool-call', { callId, name, input: given }, opaque)
    }
    if (!begun.has(callId)) begin(callId, name)
    if (!begun.get(callId)?.told) tellInput(callId, raw)
    held.push({ callId, name, raw, ...(opaque && { opaque: { provider, data: opaque } }) })
  }

  function close(calls: readonly Call[]) {
    for (const call of calls) {
      called = true
      begun.delete(call.callId)
      events.push(toolCall(call))
    }
  }

  function result(part: Fields) {
    const event = {
      callId: text(part.toolCallId),
      name: text(part.toolName),
      output: toJson(part.result),
      ...(part.isError === true && { isError: true }),
    }
    // A preview: the one that goes back comes later.
    if (part.preliminary === true) return void events.push({ type: 'provider-tool', ...event })
    said.interrupt()
    tellProviderTool('tool-result', event, metadataOf(part.providerMetadata))
  }

  /** Read back in `prompt.ts`. */
  function tellProviderTool(
    type: 'tool-call' | 'tool-result' | 'custom',
    event: { callId: string; name: string; input?: JsonValue; output?: JsonValue; isError?: boolean },
    providerMetadata: JsonObject | undefined,
  ) {
    const data = { type, ...(providerMetadata && { providerMetadata }) }
    events.push({ type: 'provider-tool', ...event, opaque: { provider, data } })
  }

  function finish(part: Fields) {
    const ending = endingOf(part.finishReason)
    const usage = usageOf(part.usage)
    const last = held.at(-1)
    // Cut off, the last of them may not be all of it: without arguments (of which Anthropic's provider makes `{}`), or with such as
    // cannot be read, it is not.
    const cut = ending.unified === 'length' || ending.unified === 'content-filter'
    if (cut && last && (/^\s*(\{\s*\}\s*)?$/.test(last.raw) || toolCall(last).problem !== undefined))
      held.pop()
    if (!isBroken(ending)) close(held)
    held = []
    checkEnding(ending, { provider, usage, called })
    said.close()
    paused = ending.raw === 'pause_turn' && !called
    const ofProvider = metadataOf(part.providerMetadata)
    const reason = finishOf(ending, called)
    if (reason === 'other' && ending.raw !== undefined) metadata.finishReason = ending.raw
    if (sources.length > 0) metadata.sources = sources
    if (files.length > 0) metadata.files = files
    if (ofProvider) metadata.provider = ofProvider
    done = {
      type: 'done',
      finish: reason,
      ...(Object.keys(usage).length > 0 && { usage }),
      ...(Object.keys(metadata).length > 0 && { metadata }),
    }
  }

  return {
    get done() {
      return done
    },
    get paused() {
      return paused
    },
    read(part) {
      if (!isObject(part)) return
      const id = text(part.id)
      if (!tellsNothing.has(part.type)) {
        close(held)
        held = []
      }
      switch (part.type) {
        case 'text-delta':
          return said.delta('text', id, text(part.delta), part.providerMetadata)
        case 'reasoning-delta':
          return said.delta('reasoning', id, text(part.delta), part.providerMetadata)
        case 'tool-input-delta':
          return tellInput(id, text(part.delta))
        case 'text-start':
          return said.start('text', id, part.providerMetadata)
        case 'text-end':
          return said.end('text', id, part.providerMetadata)
        case 'reasoning-start':
          return said.start('reasoning', id, part.providerMetadata)
        case 'reasoning-end':
          return said.end('reasoning', id, part.providerMetadata)
        case 'tool-input-start': {
          const name = text(part.toolName)
          if (part.providerExecuted === true)
            return void events.push({ type: 'provider-tool', callId: id, name })
          // OpenAI's `computer` is begun without that mark and turns out to be the provider's own only with the call. What
          // is no tool of ours can wait for that.
          if (toolNames.has(name)) begin(id, name)
          return
        }
        case 'tool-call':
          return call(part)
        case 'tool-result':
          return result(part)
        case 'custom': {
          // An item of the provider's own that must go back, such as OpenAI's compaction: it has nothing but metadata.
          const name = text(part.kind)
          // Every answer of Anthropic's has this one, for those who count tokens early; nothing of it goes back.
          if (name === 'anthropic.message_start') return
          said.interrupt()
          const callId = `${name}_${++customs}`
          return tellProviderTool('custom', { callId, name }, metadataOf(part.providerMetadata))
        }
        case 'tool-approval-request':
          throw new MillraceError({
            op: 'model.stream',
            code: 'llm_error',
            message: `${provider} asks for approval before it runs a tool of its own, which cannot be given here: configure that tool so that it asks for none`,
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
        // `tool-input-end`, `raw`, `ping`, and whatever comes to be.
      }
    },
  }
}

type Fields = Readonly<Record<string, unknown>>

/** A call as it was told. */
type Call = Parameters<typeof toolCall>[0]

/** Parts after which it is still not known whether the calls before them are complete. */
const tellsNothing: ReadonlySet<unknown> = new Set(['tool-call', 'tool-input-end', 'raw', 'finish', 'error'])

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function withoutType({ type: _, ...source }: Fields): JsonValue {
  return toJson(source)
}

/** Something the model made that is no text. Bare data before v4, `{ type: 'data', data }` or `{ type: 'url', url }` since. */
function fileOf({ mediaType, data: given }: Fields): JsonValue {
  if (isObject(given) && 'url' in given) return toJson({ mediaType, url: String(given.url) })
  const data = isObject(given) && 'data' in given ? given.data : given
  return toJson({ mediaType, data: data instanceof Uint8Array ? base64(data) : data })
}
