import type {
  Clock,
  DoneEvent,
  Model,
  ModelCapabilities,
  ModelEvent,
  ModelRequest,
  OptionTable,
  Price,
} from '../protocol/index.ts'
import {
  anObject,
  anything,
  invalidInput,
  isObject,
  MillraceError,
  sleep,
  someText,
  systemClock,
  toolCall,
  yesOrNo,
} from '../protocol/index.ts'
import { checkKitOptions, clockProblem, milliseconds } from './kit-options.ts'
import type { ScriptRound, ScriptStep } from './script.ts'
import { checkScript, missingRound } from './script-check.ts'

export interface ScriptedModelOptions {
  readonly id?: string
  readonly capabilities?: Partial<ModelCapabilities>
  /** How many characters a delta has: a number, or a list to cycle through. */
  readonly deltaChars?: number | readonly number[]
  /** Delay before each delta. With 0, everything comes at once. */
  readonly paceMs?: number
  /** What it costs, in dollars per million tokens. Default: unknown. */
  readonly price?: Price
  /** Marks its costs as simulated. */
  readonly simulated?: boolean
  readonly clock?: Clock
}

export interface ScriptedModel extends Model {
  /** All requests, in order. */
  readonly requests: readonly ModelRequest[]
}

const table: OptionTable<ScriptedModelOptions> = {
  id: someText,
  capabilities: anObject,
  deltaChars: anything,
  paceMs: milliseconds,
  price: anObject,
  simulated: yesOrNo,
  clock: clockProblem,
}

/**
 * A model that plays a script: each request gets the next round. Requesting more rounds than there
 * are fails with a clear error. Instead of a list, a function can decide what to do for each
 * request.
 */
export function scriptedModel(
  rounds: readonly ScriptRound[] | ((request: ModelRequest, index: number) => ScriptRound),
  options: ScriptedModelOptions = {},
): ScriptedModel {
  checkKitOptions(options, table, 'scriptedModel')
  const { id = 'scripted', capabilities, deltaChars = 12, paceMs = 0, clock = systemClock } = options
  const { price, simulated } = options
  const sizes = checkSizes(deltaChars, 'scriptedModel')
  checkScript(rounds, 'scriptedModel')
  const requests: ModelRequest[] = []
  let calls = 0
  let providerCalls = 0

  function roundFor(request: ModelRequest, index: number): readonly ScriptStep[] {
    const round = typeof rounds === 'function' ? rounds(request, index) : rounds[index]
    const message = missingRound(rounds, round, index)
    if (message !== undefined) throw new MillraceError({ op: 'model.stream', code: 'llm_error', message })
    return typeof round === 'string' ? [{ text: round }] : (round ?? [])
  }

  async function* play(steps: readonly ScriptStep[], signal: AbortSignal): AsyncGenerator<ModelEvent, void> {
    const wait = async (ms: number) => {
      if (ms > 0) await sleep(ms, { clock, signal })
      signal.throwIfAborted()
    }
    let last: Omit<DoneEvent, 'type' | 'finish'> & Partial<DoneEvent> = {}
    let called = false
    for (const step of steps) {
      signal.throwIfAborted()
      if ('text' in step) {
        for (const text of cut(step.text, sizes)) {
          if (paceMs > 0) await wait(paceMs)
          yield { type: 'text', text }
        }
      } else if ('reasoning' in step) {
        for (const text of cut(step.reasoning, sizes)) {
          if (paceMs > 0) await wait(paceMs)
          yield { type: 'reasoning', text }
        }
        yield { type: 'part-end', part: 'reasoning', ...(step.opaque && { opaque: step.opaque }) }
      } else if ('call' in step) {
        const { call: name, input = {}, raw = JSON.stringify(input), opaque } = step
        const callId = step.id ?? `call_${++calls}`
        yield { type: 'tool-input-start', callId, name }
        for (const delta of cut(raw, sizes)) {
          if (paceMs > 0) await wait(paceMs)
          yield { type: 'tool-input', callId, delta }
        }
        if (step.cut) continue
        called = true
        yield toolCall({ callId, name, raw, ...(opaque && { opaque }) })
      } else if ('providerTool' in step) {
        const { providerTool: name, ...rest } = step
        yield { type: 'provider-tool', callId: `provider_${++providerCalls}`, name, ...rest }
      } else if ('pause' in step) {
        await wait(step.pause)
      } else if ('error' in step) {
        const fields = isObject(step.error) ? step.error : { message: step.error }
        throw new MillraceError({
          op: 'model.stream',
          code: 'llm_error',
          message: 'scripted failure',
          ...fields,
        })
      } else if ('hang' in step) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        signal.throwIfAborted()
      } else if ('end' in step) {
        return
      } else {
        last = { ...last, ...step }
      }
    }
    yield { type: 'done', finish: called ? 'tool-calls' : 'stop', ...last }
  }

  return {
    id,
    provider: 'scripted',
    ...(price && { price }),
    ...(simulated && { simulated }),
    capabilities: {
      tools: true,
      images: true,
      files: true,
      reasoning: true,
      streaming: true,
      structuredOutput: true,
      ...capabilities,
    },
    requests,
    stream(request, { signal }) {
      requests.push(request)
      return play(roundFor(request, requests.length - 1), signal)
    },
  }
}

/** `deltaChars` as a list. Throws `invalid_input` if a delta would be empty. */
export function checkSizes(deltaChars: number | readonly number[], op: string): readonly number[] {
  const sizes = Array.isArray(deltaChars) ? deltaChars : [deltaChars]
  if (sizes.length === 0 || sizes.some((size) => !(typeof size === 'number' && size >= 1)))
    throw invalidInput(op, 'deltaChars must be at least 1')
  return sizes
}

/**
 * Cuts text into pieces, cycling through the sizes. A surrogate pair stays whole, as on every wire.
 */
export function* cut(text: string, sizes: readonly number[]): Generator<string> {
  for (let at = 0, turn = 0; at < text.length; turn++) {
    let end = at + (sizes[turn % sizes.length] as number)
    if (/[\uD800-\uDBFF]/.test(text[end - 1] ?? '')) end++
    yield text.slice(at, end)
    at = end
  }
}
