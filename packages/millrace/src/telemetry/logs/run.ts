import type {
  CallStatus,
  MillraceError,
  ModelCall,
  Outcome,
  RoundRetryEvent,
  RunBeginning,
  RunEndEvent,
  RunTelemetry,
  Telemetry,
  ToolResultEvent,
  Usage,
} from '../../protocol/index.ts'
import { addUsage, noUsage } from '../../protocol/index.ts'
import { handleBy } from '../handlers.ts'
import { errorFields, nameField, present, traceFields, usageFields } from './fields.ts'
import type { LogFields, LogLevel } from './line.ts'

interface RunLogOptions {
  readonly tell: (level: LogLevel, message: string, fields: LogFields) => void
  readonly content: boolean
  /** The run that has started this one, by one of its calls. */
  readonly parent?: { readonly runId: string; readonly place: LogFields }
}

/** What a person or a rule did not want, or what ended with its run, did not go wrong. */
const wentWrong: ReadonlySet<CallStatus> = new Set(['failed', 'timeout', 'rejected', 'unknown'])

/** Told of one run: of what goes wrong when it does, of the run itself when it is over. */
export function beginRun(run: RunBeginning, options: RunLogOptions): RunTelemetry {
  const { tell, content, parent } = options
  const begunAt = performance.now()
  const place = placeOf(run) ?? parent?.place ?? {}
  const about = { agent: nameField(run.agent), run: run.runId, ...place }
  const rounds = new Set<number>()
  const models = new Set<string>()
  let usage: Usage = noUsage
  let calls = 0
  let failedCalls = 0
  let losses: number | undefined
  let trace: LogFields = {}
  let isOver = false
  /** A model call that failed, as long as it is open what is done about it. */
  let failure: { readonly error: MillraceError; readonly fields: LogFields } | undefined

  function tellFailure(again?: RoundRetryEvent) {
    const told = failure
    failure = undefined
    if (!told || (!again && endedWithRun(told.error))) return
    const next = again && nameField(again.model)
    const fields = present({
      ...told.fields,
      retryMs: again && Math.round(again.delayMs),
      retryModel: next === told.fields.model ? undefined : next,
      ...trace,
    })
    tell('warn', 'model call failed', fields)
  }

  function spend(event: { readonly usage?: Partial<Usage> }) {
    if (event.usage) usage = addUsage(usage, event.usage)
  }

  function tellCall({ name, callId, status, ms }: ToolResultEvent) {
    calls++
    if (!wentWrong.has(status)) return
    failedCalls++
    const call = { tool: nameField(name), call: nameField(callId), status, ms: Math.round(ms) }
    tell('warn', 'tool call failed', { ...about, ...call, ...trace })
  }

  function end(outcome: Outcome | 'handed-over', error?: RunEndEvent['error']) {
    if (isOver) return
    tellFailure()
    isOver = true
    const fields = present({
      ...about,
      parent: parent?.runId,
      outcome,
      rounds: rounds.size,
      calls,
      failedCalls: failedCalls || undefined,
      ms: since(begunAt),
      models: models.size > 0 ? [...models] : undefined,
      ...usageFields(usage),
      resumes: run.resumes?.runId,
      losses,
      // That of one that was cancelled says no more than that.
      ...(error && outcome === 'failed' && errorFields(error, content)),
      ...trace,
    })
    tell(outcome === 'failed' ? 'error' : 'info', `run ${outcome}`, fields)
  }

  function observe({ model, round, attempt, aside }: ModelCall) {
    const startedAt = performance.now()
    const name = nameField(model.id)
    if (!aside) {
      tellFailure()
      models.add(name)
    }
    return {
      end({ error }: { readonly error?: MillraceError | undefined }) {
        if (!error || isOver) return
        const fields = present({
          ...about,
          provider: nameField(model.provider),
          model: name,
          round,
          attempt,
          aside,
          ms: since(startedAt),
          ...errorFields(error, content),
        })
        if (!aside) failure = { error, fields }
        else if (!endedWithRun(error)) tell('warn', 'model call failed', { ...fields, ...trace })
      },
    }
  }

  return {
    event: handleBy({
      'run-start'(event) {
        losses = event.losses
        trace = traceFields(event.trace)
      },
      'round-start'({ round }) {
        tellFailure()
        rounds.add(round)
      },
      'round-retry': tellFailure,
      'round-end'(event) {
        tellFailure()
        spend(event)
      },
      summary: spend,
      'tool-result': tellCall,
      'run-end': ({ outcome, error }) => end(outcome, error),
    }),
    call: observe,
    within: (_, work) => work(),
    inside: (): Telemetry => ({
      begin: (started) => beginRun(started, { ...options, parent: { runId: run.runId, place } }),
    }),
    abandoned: () => end('handed-over'),
  }
}

function placeOf({ conversation, inThread }: RunBeginning): LogFields | undefined {
  if (conversation === undefined) return undefined
  return { [inThread ? 'thread' : 'conversation']: nameField(conversation) }
}

/** The run was over, and the call with it: the line of the run says why. */
function endedWithRun({ op, code }: MillraceError): boolean {
  return code === 'stream_interrupted' || op === 'agent.run' || op === 'tool.run'
}

function since(startedAt: number): number {
  return Math.round(performance.now() - startedAt)
}
