import type { Entry, ErrorJson, Message, ScriptStep, UserMessage } from '../../protocol/index.ts'
import { isObject } from '../../protocol/index.ts'
import type { CallView, InputView, LogView, RoundView, RunView, TextView } from '../../view/index.ts'
import { applyEntry, createView } from '../../view/index.ts'

type TextPart = { readonly kind: TextView['kind']; text: string }

/** One model request: a round, or one of the attempts at it. */
export interface Attempt {
  readonly round: RoundView
  /** Text in order, and calls in the order in which they were closed. */
  readonly parts: (TextPart | CallView)[]
  /** Calls whose arguments were started. */
  readonly started: CallView[]
  /** The inputs that this attempt was the first to read. */
  readonly inputs: readonly UserMessage[]
  /** Whether the conversation was summarized before it. */
  readonly isSummarized: boolean
  /** All attempts at this round, including this one. */
  readonly series: Attempt[]
  /** Why the request was retried. */
  failure?: ErrorJson
}

export interface LoggedRun {
  readonly run: RunView
  readonly messages: readonly Message[]
  readonly attempts: Attempt[]
}

/** The runs of a log, and how many inputs no run has read. */
export function readRuns(entries: readonly Entry[]): { runs: readonly LoggedRun[]; waiting: number } {
  const view = createView()
  const runs: LoggedRun[] = []
  /** Runs without any input: a rewind has dropped their messages just before they started. */
  const empty = new Set<RunView>()
  let corrections: UserMessage[] = []
  let isSummarized = false
  let open: Attempt | undefined

  for (const entry of entries) {
    const { event } = entry
    const { run, round, retry, read = [], text, call, state, delta } = applyEntry(view, entry)
    // A run that answers again reads no input: its inputs are still in the conversation.
    const inputs = event.type === 'run-start' && read.length === 0 ? lastInputs(view) : read
    const messages = inputs.map(({ message }) => message)
    if (event.type === 'summary') isSummarized = true
    if (event.type === 'input' && event.mode === 'correct') corrections.push(event.message)
    if (event.type === 'run-start' && run?.legs.length === 1) {
      runs.push({ run, messages: [...event.input, ...messages], attempts: [] })
      if (event.input.length === 0 && !event.inputs?.length) empty.add(run)
      open = undefined
    }
    const current = runs.at(-1)
    const last = current?.run.rounds.at(-1)
    // A request that is retried after it returned something continues the same generation.
    const isRetry = retry && last?.parts.length === 0
    if (current && last && (isRetry || (round && round !== open?.round && !(open && round.end)))) {
      if (open && retry) open.failure = retry.error
      const series: Attempt[] = (isRetry && open?.series) || []
      const inputs = [...messages, ...corrections]
      open = { round: last, parts: [], started: [], inputs, isSummarized, series }
      series.push(open)
      current.attempts.push(open)
      corrections = []
      isSummarized = false
    }
    if (!open) continue
    const part = open.parts.at(-1)
    if (text && part?.kind === text.kind) part.text += delta
    else if (text) open.parts.push({ kind: text.kind, text: delta })
    if (call && state === 'writing') open.started.push(call)
    const isClosed = event.type === 'tool-call' || event.type === 'provider-tool'
    if (call && isClosed && !open.parts.includes(call)) open.parts.push(call)
  }
  const current = runsOf(view)
  return { runs: runs.filter(({ run }) => current.has(run) && !empty.has(run)), waiting: view.waiting.length }
}

function lastInputs({ rows }: LogView): readonly InputView[] {
  const inputs = rows.slice(rows.findLastIndex(({ kind }) => kind !== 'input') + 1)
  return inputs.filter((row) => row.kind === 'input')
}

/** The runs of the current conversation, without those that rewinds have replaced. */
function runsOf({ rows, runs, versions, open }: LogView): Set<RunView> {
  if (versions.size === 0) return new Set(runs)
  const current = new Set(open.run ? [open.run] : [])
  for (const row of rows) {
    if ('round' in row) current.add(row.round.run)
    else if (row.kind === 'end') current.add(row.run)
  }
  return current
}

/** The closed calls, without the provider's own, in the order in which they were closed. */
export function closedCalls({ parts }: Attempt): CallView[] {
  return parts.filter((part) => part.kind === 'call').filter(({ provider }) => !provider)
}

/** Whether it has a problem that is not in its arguments: the model never finished it. */
export function isCutOff({ problem, raw }: CallView): boolean {
  if (problem === undefined) return false
  return /^the arguments were (cut off|never)/.test(problem) || isJsonObject(raw.pieces.join(''))
}

function isJsonObject(text: string): boolean {
  try {
    return isObject(JSON.parse(text))
  } catch {
    return text.trim() === ''
  }
}

/**
 * The output of a model in an attempt, without its end. Data that only the provider can read is
 * left out.
 */
export function outputSteps({ parts, started, round }: Attempt): ScriptStep[] {
  const open = started.filter(({ closedAt }) => closedAt === undefined)
  return [...parts, ...open].map((part): ScriptStep => {
    if (part.kind !== 'call') return part.kind === 'text' ? { text: part.text } : { reasoning: part.text }
    return part.provider ? providerStep(part) : callStep(part, round.retracted !== undefined)
  })
}

function providerStep({ name, provider: { input, output, isError } = {} }: CallView): ScriptStep {
  // Undefined fields are not written to the source.
  return { providerTool: name, input, output, isError } as ScriptStep
}

/** A call that was abandoned, or retracted before it ran, is not closed. */
function callStep(part: CallView, isRetracted: boolean): ScriptStep {
  const { callId: id, name: call, input, problem } = part
  const raw = input && problem === undefined ? JSON.stringify(input) : part.raw.pieces.join('')
  if (!input || isRetracted || isCutOff(part)) return { call, id, raw, cut: true }
  return problem === undefined ? { call, id, input } : { call, id, raw }
}

/** How a model ended a round, if that is not the default. */
export function endSteps({ round: { end } }: Attempt, output: readonly ScriptStep[]): ScriptStep[] {
  const { usage, finish } = end ?? {}
  const defaultFinish = output.some((step) => 'call' in step && !step.cut) ? 'tool-calls' : 'stop'
  return [
    ...(usage && Object.keys(usage).length > 0 ? [{ usage }] : []),
    ...(finish && finish !== 'interrupted' && finish !== defaultFinish ? [{ finish }] : []),
  ]
}

const lostProcess = { code: 'stream_error', message: 'the process was lost', status: undefined } as const

/**
 * How a request failed. The delay that a provider asked for is left out, so that the test does not
 * wait.
 */
export function failedStep(error: ErrorJson | undefined, retryable: boolean): ScriptStep {
  const { code, message, status } = error ?? lostProcess
  return { error: { code, message, status, retryable } }
}

/**
 * How much a step adds to the output of a run: its characters, and one for each call that is
 * started.
 */
export function weightOf(step: ScriptStep): number {
  if ('text' in step) return step.text.length
  if ('reasoning' in step) return step.reasoning.length
  if ('call' in step) return 1 + (step.raw ?? JSON.stringify(step.input)).length
  return 'providerTool' in step ? 1 : 0
}
