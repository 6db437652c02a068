import type { ErrorJson, ScriptStep } from '../../protocol/index.ts'
import { isObject } from '../../protocol/index.ts'
import type { CallView } from '../../view/index.ts'
import type { LoggedCall, LoggedRound } from './log.ts'

/** What a model said in a round, without how that ended. What only its provider can read is left out. */
export function saidSteps({ parts, open, retracted }: LoggedRound): ScriptStep[] {
  const steps = parts.map((part): ScriptStep => {
    if (part.type === 'call') return callStep(part.call, retracted)
    if (part.type === 'provider-tool') return providerStep(part.name, part.told)
    return part.type === 'text' ? { text: part.text } : { reasoning: part.text }
  })
  return [...steps, ...open.map(({ id, name, raw }) => ({ call: name, id, raw, cut: true }))]
}

/** A call that was given up, or taken back before it ran, is not closed. One that is no proper JSON is refused for that again. */
function callStep(logged: LoggedCall, retracted: boolean): ScriptStep {
  const { callId: id, name, input, problem, raw = JSON.stringify(input) } = logged.call
  if (retracted || isCutOff(logged)) return { call: name, id, raw, cut: true }
  return problem === undefined ? { call: name, id, input } : { call: name, id, raw }
}

/** It has a problem that will not be found in what was written: the model never finished it. */
export function isCutOff({ call: { problem, raw = '' } }: LoggedCall): boolean {
  return problem !== undefined && (/^the arguments were (cut off|never)/.test(problem) || isJsonObject(raw))
}

function isJsonObject(text: string): boolean {
  try {
    return isObject(JSON.parse(text))
  } catch {
    return text.trim() === ''
  }
}

function providerStep(
  name: string,
  { input, output, isError }: NonNullable<CallView['provider']>,
): ScriptStep {
  return {
    providerTool: name,
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    ...(isError !== undefined && { isError }),
  }
}

/** How a model ended a round, where that does not go without saying. */
export function doneSteps({ end }: LoggedRound, said: readonly ScriptStep[]): ScriptStep[] {
  const { usage, finish } = end ?? {}
  const usual = said.some((step) => 'call' in step && !step.cut) ? 'tool-calls' : 'stop'
  return [
    ...(usage && Object.keys(usage).length > 0 ? [{ usage }] : []),
    ...(finish && finish !== 'interrupted' && finish !== usual ? [{ finish }] : []),
  ]
}

const lostProcess = { code: 'stream_error', message: 'the process was lost', status: undefined } as const

/** How a request failed. The wait that a provider asked for is left out: a test has no time. */
export function failedStep(
  error: ErrorJson | undefined,
  { isSentAgain }: { isSentAgain: boolean },
): ScriptStep {
  const { code, message, status } = error ?? lostProcess
  return { error: { code, message, ...(status !== undefined && { status }), retryable: isSentAgain } }
}

/** By how much a step takes a run further: its characters, and one for each call that is begun. */
export function weightOf(step: ScriptStep): number {
  if ('text' in step) return step.text.length
  if ('reasoning' in step) return step.reasoning.length
  if ('call' in step) return 1 + (step.raw ?? JSON.stringify(step.input)).length
  return 'providerTool' in step ? 1 : 0
}
