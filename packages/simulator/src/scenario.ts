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

/** A step, told as the wires tell it: parts that are opened, filled and closed. Nothing follows fail, hang and end. */
export type Act =
  | { readonly act: 'open'; readonly part: Part }
  | { readonly act: 'close'; readonly part: Part }
  | { readonly act: 'delta'; readonly part: Part; readonly delta: string }
  | { readonly act: 'pause'; readonly ms: number }
  | { readonly act: 'fail'; readonly error: Partial<ErrorFields> }
  | { readonly act: 'hang' }
  | { readonly act: 'end' }

/** One round of a script, without anything that only one wire knows. */
export interface Scenario {
  readonly acts: readonly Act[]
  readonly finish: FinishReason
  /** Absent if the provider keeps it to itself. */
  readonly usage?: Usage
  /** Responses writes tools that the provider runs as `custom_tool_call` items. */
  readonly customProviderCalls?: boolean
}

/** `promptChars` is the size of what was asked, for a plausible count of tokens where the script has none. */
export function scenarioOf(
  steps: readonly ScriptStep[],
  { sizes, promptChars }: { readonly sizes: readonly number[]; readonly promptChars: number },
): Scenario {
  const acts: Act[] = []
  let words: { type: 'text'; text: string } | undefined
  let finish: FinishReason | undefined
  let usage: Partial<Usage> | undefined
  let called = false

  function closeWords() {
    if (words) acts.push({ act: 'close', part: words })
    words = undefined
  }

  function whole(part: Part, text: string) {
    closeWords()
    acts.push({ act: 'open', part })
    for (const delta of cut(text, sizes)) acts.push({ act: 'delta', part, delta })
    acts.push({ act: 'close', part })
  }

  for (const step of steps) {
    if ('text' in step) {
      if (step.text === '') continue
      if (!words) {
        words = { type: 'text', text: '' }
        acts.push({ act: 'open', part: words })
      }
      words.text += step.text
      for (const delta of cut(step.text, sizes)) acts.push({ act: 'delta', part: words, delta })
    } else if ('reasoning' in step) {
      const { reasoning: text, opaque } = step
      whole({ type: 'reasoning', text, ...(opaque && { opaque }) }, text)
    } else if ('call' in step) {
      const { call: name, input = {}, raw = JSON.stringify(input), cut: isCut = false, id, opaque } = step
      if (!isCut) called = true
      whole({ type: 'call', name, raw, cut: isCut, ...(id && { id }), ...(opaque && { opaque }) }, raw)
    } else if ('providerTool' in step) {
      const { providerTool: name, input = {}, output, isError = false } = step
      whole({ type: 'provider-tool', name, input, isError, ...(output !== undefined && { output }) }, '')
    } else if ('pause' in step) {
      acts.push({ act: 'pause', ms: step.pause })
    } else if ('usage' in step) {
      usage = step.usage
    } else if ('finish' in step) {
      finish = step.finish
    } else {
      acts.push(lastAct(step))
      break
    }
  }
  if (!isOver(acts)) closeWords()
  return {
    acts,
    finish: finish ?? (called ? 'tool-calls' : 'stop'),
    usage: usage ? { ...noUsage, ...usage } : estimate(acts, promptChars),
  }
}

function lastAct(step: Extract<ScriptStep, { error: unknown } | { hang: true } | { end: true }>): Act {
  if ('hang' in step) return { act: 'hang' }
  if ('end' in step) return { act: 'end' }
  const error = isObject(step.error) ? step.error : { message: step.error }
  // A stream that breaks does not say so: it is over.
  return error.code === 'stream_error' && error.status === undefined ? { act: 'end' } : { act: 'fail', error }
}

/** True if the stream stops where the acts do, without a terminal event. */
export function isOver(acts: readonly Act[]): boolean {
  const last = acts.at(-1)?.act
  return last === 'fail' || last === 'hang' || last === 'end'
}

/** Four characters to a token: the rule of thumb of every provider. */
function estimate(acts: readonly Act[], promptChars: number): Usage {
  const chars = (only?: Part['type']) =>
    acts.reduce(
      (sum, act) => sum + (act.act === 'delta' && (!only || act.part.type === only) ? act.delta.length : 0),
      0,
    )
  return {
    ...noUsage,
    inputTokens: Math.max(1, Math.ceil(promptChars / 4)),
    outputTokens: Math.max(1, Math.ceil(chars() / 4)),
    reasoningTokens: Math.ceil(chars('reasoning') / 4),
  }
}

/** What a script gives back to the provider under one of these names; plain text stands for the first of them. */
export function opaqueText(
  opaque: ProviderData | undefined,
  ...names: readonly string[]
): string | undefined {
  const data = opaque?.data
  if (typeof data === 'string') return data
  if (!isObject(data)) return undefined
  return names.map((name) => data[name]).find((value) => typeof value === 'string')
}
