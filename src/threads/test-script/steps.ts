import type { ErrorJson, ScriptStep } from '../../protocol/index.ts'
import type { CallView } from '../../view/index.ts'
import type { Attempt } from './log.ts'
import { isCutOff } from './log.ts'

/** What a model said in an attempt, without how that ended. What only its provider can read is left out. */
export function saidSteps({ parts, begun, round }: Attempt): ScriptStep[] {
  const open = begun.filter(({ closedAt }) => closedAt === undefined)
  return [...parts, ...open].map((part): ScriptStep => {
    if (part.kind !== 'call') return part.kind === 'text' ? { text: part.text } : { reasoning: part.text }
    return part.provider ? providerStep(part) : callStep(part, round.retracted !== undefined)
  })
}

function providerStep({ name, provider: { input, output, isError } = {} }: CallView): ScriptStep {
  // A field that is undefined does not reach the source.
  return { providerTool: name, input, output, isError } as ScriptStep
}

/** A call that was given up, or retracted before it ran, is not closed. */
function callStep(part: CallView, isRetracted: boolean): ScriptStep {
  const { callId: id, name: call, input, problem } = part
  const raw = input && problem === undefined ? JSON.stringify(input) : part.raw.pieces.join('')
  if (!input || isRetracted || isCutOff(part)) return { call, id, raw, cut: true }
  return problem === undefined ? { call, id, input } : { call, id, raw }
}

/** How a model ended a round, where that does not go without saying. */
export function doneSteps({ round: { end } }: Attempt, said: readonly ScriptStep[]): ScriptStep[] {
  const { usage, finish } = end ?? {}
  const usual = said.some((step) => 'call' in step && !step.cut) ? 'tool-calls' : 'stop'
  return [
    ...(usage && Object.keys(usage).length > 0 ? [{ usage }] : []),
    ...(finish && finish !== 'interrupted' && finish !== usual ? [{ finish }] : []),
  ]
}

const lostProcess = { code: 'stream_error', message: 'the process was lost', status: undefined } as const

/** How a request failed. The wait that a provider asked for is left out: a test has no time. */
export function failedStep(error: ErrorJson | undefined, retryable: boolean): ScriptStep {
  const { code, message, status } = error ?? lostProcess
  return { error: { code, message, status, retryable } }
}

/** By how much a step takes a run further: its characters, and one for each call that is begun. */
export function weightOf(step: ScriptStep): number {
  if ('text' in step) return step.text.length
  if ('reasoning' in step) return step.reasoning.length
  if ('call' in step) return 1 + (step.raw ?? JSON.stringify(step.input)).length
  return 'providerTool' in step ? 1 : 0
}
