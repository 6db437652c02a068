import type { FinishReason, JsonValue, ProviderData, Usage } from 'millrace'
import { noUsage } from 'millrace'
import type { ErrorFields } from 'millrace/internal'
import { isObject } from 'millrace/internal'
import { cut } from 'millrace/internal/testing'
import type { ScriptStep } from 'millrace/testing'

export interface CallPart {
  readonly type: 'call'
  readonly name: string
  readonly raw: string
  readonly cut: boolean
  readonly id?: string
  readonly opaque?: ProviderData
}

export interface ReasoningPart {
  readonly type: 'reasoning'
  readonly text: string
  readonly opaque?: ProviderData
}

export interface ProviderToolPart {
  readonly type: 'provider-tool'
  readonly name: string
  readonly input: JsonValue
  readonly output?: JsonValue
  readonly isError: boolean
}

export type Part =
  | { readonly type: 'text'; readonly text: string }
  | ReasoningPart
  | CallPart
  | ProviderToolPart

/**
 * A script step in terms of wires: parts are opened, filled and closed. Nothing follows fail, hang
 * and end.
 */
export type Action =
  | { readonly type: 'open'; readonly part: Part }
  | { readonly type: 'close'; readonly part: Part }
  | { readonly type: 'delta'; readonly part: Part; readonly delta: string }
  | { readonly type: 'pause'; readonly ms: number }
  | { readonly type: 'fail'; readonly error: Partial<ErrorFields> }
  | { readonly type: 'hang' }
  | { readonly type: 'end' }

/** One round of a script, independent of the wire. */
export interface Scenario {
  readonly actions: readonly Action[]
  readonly finish: FinishReason
  /** Absent if the provider does not report it. */
  readonly usage?: Usage
  /** Responses: provider tools become `custom_tool_call` items. */
  readonly customProviderCalls?: boolean
}

/** `prompt` is the usage of the input, if the script has no usage. */
export function scenarioOf(
  steps: readonly ScriptStep[],
  { sizes, prompt }: { readonly sizes: readonly number[]; readonly prompt: PromptUsage },
): Scenario {
  const actions: Action[] = []
  let openText: { type: 'text'; text: string } | undefined
  let finish: FinishReason | undefined
  let usage: Partial<Usage> | undefined
  let called = false

  function closeText() {
    if (openText) actions.push({ type: 'close', part: openText })
    openText = undefined
  }

  function addPart(part: Part, text: string) {
    closeText()
    actions.push({ type: 'open', part })
    for (const delta of cut(text, sizes)) actions.push({ type: 'delta', part, delta })
    actions.push({ type: 'close', part })
  }

  for (const step of steps) {
    if ('text' in step) {
      if (step.text === '') continue
      if (!openText) {
        openText = { type: 'text', text: '' }
        actions.push({ type: 'open', part: openText })
      }
      openText.text += step.text
      for (const delta of cut(step.text, sizes)) actions.push({ type: 'delta', part: openText, delta })
    } else if ('reasoning' in step) {
      const { reasoning: text, opaque } = step
      addPart({ type: 'reasoning', text, ...(opaque && { opaque }) }, text)
    } else if ('call' in step) {
      const { call: name, input = {}, raw = JSON.stringify(input), cut: isCut = false, id, opaque } = step
      if (!isCut) called = true
      addPart({ type: 'call', name, raw, cut: isCut, ...(id && { id }), ...(opaque && { opaque }) }, raw)
    } else if ('providerTool' in step) {
      const { providerTool: name, input = {}, output, isError = false } = step
      addPart({ type: 'provider-tool', name, input, isError, ...(output !== undefined && { output }) }, '')
    } else if ('pause' in step) {
      actions.push({ type: 'pause', ms: step.pause })
    } else if ('usage' in step) {
      usage = step.usage
    } else if ('finish' in step) {
      finish = step.finish
    } else {
      actions.push(finalAction(step))
      break
    }
  }
  if (!endsEarly(actions)) closeText()
  return {
    actions,
    finish: finish ?? (called ? 'tool-calls' : 'stop'),
    usage: usage ? { ...noUsage, ...usage } : estimate(actions, prompt),
  }
}

function finalAction(step: Extract<ScriptStep, { error: unknown } | { hang: true } | { end: true }>): Action {
  if ('hang' in step) return { type: 'hang' }
  if ('end' in step) return { type: 'end' }
  const error = isObject(step.error) ? step.error : { message: step.error }
  // A broken stream just ends.
  return error.code === 'stream_error' && error.status === undefined
    ? { type: 'end' }
    : { type: 'fail', error }
}

/** True if the stream stops after the last action, without a terminal event. */
export function endsEarly(actions: readonly Action[]): boolean {
  const last = actions.at(-1)?.type
  return last === 'fail' || last === 'hang' || last === 'end'
}

type PromptUsage = Pick<Usage, 'inputTokens'> & Partial<Pick<Usage, 'cacheReadTokens' | 'cacheWriteTokens'>>

/** Four characters per token: the usual rule of thumb. */
export const tokensIn = (chars: number) => Math.max(1, Math.ceil(chars / 4))

function estimate(actions: readonly Action[], prompt: PromptUsage): Usage {
  const chars = (only?: Part['type']) =>
    actions.reduce(
      (sum, action) =>
        sum + (action.type === 'delta' && (!only || action.part.type === only) ? action.delta.length : 0),
      0,
    )
  return {
    ...noUsage,
    ...prompt,
    outputTokens: tokensIn(chars()),
    reasoningTokens: Math.ceil(chars('reasoning') / 4),
  }
}

/**
 * The value of the first of these names in a script's opaque data, or the data itself if it is a
 * string.
 */
export function opaqueText(
  opaque: ProviderData | undefined,
  ...names: readonly string[]
): string | undefined {
  const data = opaque?.data
  if (typeof data === 'string') return data
  if (!isObject(data)) return undefined
  return names.map((name) => data[name]).find((value) => typeof value === 'string')
}
