import type {
  CallStatus,
  MillraceError,
  ModelCall,
  Outcome,
  RoundRetryEvent,
  RunEndEvent,
  RunEvent,
  RunInfo,
  RunTelemetry,
  Telemetry,
  ToolResultEvent,
  Usage,
} from '../../protocol/index.ts'
import { addUsage, countSpend, nothingSpent, noUsage } from '../../protocol/index.ts'
import { eventHandler } from '../handlers.ts'
import {
  costFields,
  definedFields,
  errorFields,
  limitFields,
  nameField,
  traceFields,
  usageFields,
} from './fields.ts'
import type { LogFields, LogLevel } from './line.ts'

interface RunLogOptions {
  readonly log: (level: LogLevel, message: string, fields: LogFields) => void
  readonly content: boolean
  /** The run that started this one by one of its tool calls. */
  readonly parent?: { readonly runId: string; readonly location: LogFields }
}

/** Calls that were denied, blocked or canceled did not fail. */
const failureStatuses: ReadonlySet<CallStatus> = new Set(['failed', 'timeout', 'rejected', 'unknown'])

/** Logs one run: failures as they happen, and the run itself when it ends. */
export function logRun(run: RunInfo, options: RunLogOptions): RunTelemetry {
  const { log, content, parent } = options
  const startedAt = performance.now()
  const location = locationOf(run) ?? parent?.location ?? {}
  const runFields = { agent: nameField(run.agent), run: run.runId, ...location }
  const rounds = new Set<number>()
  const models = new Set<string>()
  let usage: Usage = noUsage
  /** Without sub-agents, which have lines of their own, and without the runs that this one resumes. */
  const spent = nothingSpent()
  let calls = 0
  let failedCalls = 0
  let losses: number | undefined
  let trace: LogFields = {}
  let hasEnded = false
  /** A failed model call that is logged once it is known whether it will be retried. */
  let failure: { readonly error: MillraceError; readonly fields: LogFields } | undefined

  function logFailure(retry?: RoundRetryEvent) {
    const failed = failure
    failure = undefined
    if (!failed || (!retry && endedWithRun(failed.error))) return
    const next = retry && nameField(retry.model)
    const fields = definedFields({
      ...failed.fields,
      retryMs: retry && Math.round(retry.delayMs),
      retryModel: next === failed.fields.model ? undefined : next,
      ...trace,
    })
    log('warn', 'model call failed', fields)
  }

  function addUsageOf(event: RunEvent & { readonly usage?: Partial<Usage> }) {
    if (event.usage) usage = addUsage(usage, event.usage)
    countSpend(spent, event)
  }

  function logToolCall(event: ToolResultEvent) {
    const { name, callId, status, ms } = event
    countSpend(spent, event)
    calls++
    if (!failureStatuses.has(status)) return
    failedCalls++
    const call = { tool: nameField(name), call: nameField(callId), status, ms: Math.round(ms) }
    log('warn', 'tool call failed', { ...runFields, ...call, ...trace })
  }

  function end(outcome: Outcome | 'handed-over', { error, limit }: Partial<RunEndEvent> = {}) {
    if (hasEnded) return
    logFailure()
    hasEnded = true
    const fields = definedFields({
      ...runFields,
      parent: parent?.runId,
      outcome,
      rounds: rounds.size,
      calls,
      failedCalls: failedCalls || undefined,
      ms: since(startedAt),
      models: models.size > 0 ? [...models] : undefined,
      ...usageFields(usage),
      ...costFields(spent),
      ...(limit && limitFields(limit)),
      resumes: run.resumes?.runId,
      losses,
      // The error of a canceled run adds nothing.
      ...(error && outcome === 'failed' && errorFields(error, content)),
      ...trace,
    })
    log(outcome === 'failed' ? 'error' : 'info', `run ${outcome}`, fields)
  }

  function observe({ model, round, attempt, aside }: ModelCall) {
    const startedAt = performance.now()
    const name = nameField(model.id)
    if (!aside) {
      logFailure()
      models.add(name)
    }
    return {
      end({ error }: { readonly error?: MillraceError | undefined }) {
        if (!error || hasEnded) return
        const fields = definedFields({
          ...runFields,
          provider: nameField(model.provider),
          model: name,
          round,
          attempt,
          aside,
          ms: since(startedAt),
          ...errorFields(error, content),
        })
        if (!aside) failure = { error, fields }
        else if (!endedWithRun(error)) log('warn', 'model call failed', { ...fields, ...trace })
      },
    }
  }

  return {
    event: eventHandler({
      'run-start'(event) {
        losses = event.losses
        trace = traceFields(event.trace)
      },
      'round-start'({ round }) {
        logFailure()
        rounds.add(round)
      },
      'round-retry'(event) {
        logFailure(event)
        countSpend(spent, event)
      },
      'round-retract': (event) => countSpend(spent, event),
      'round-end'(event) {
        logFailure()
        addUsageOf(event)
      },
      summary: addUsageOf,
      'tool-result': logToolCall,
      'run-end': (event) => end(event.outcome, event),
    }),
    modelCall: observe,
    runInContext: (_, work) => work(),
    nested: (): Telemetry => ({
      startRun: (started) => logRun(started, { ...options, parent: { runId: run.runId, location } }),
    }),
    handedOver: () => end('handed-over'),
  }
}

function locationOf({ conversation, inThread }: RunInfo): LogFields | undefined {
  if (conversation === undefined) return undefined
  return { [inThread ? 'thread' : 'conversation']: nameField(conversation) }
}

/** The model call ended because the run did: the line of the run says why. */
function endedWithRun({ op, code }: MillraceError): boolean {
  return code === 'stream_interrupted' || op === 'agent.run' || op === 'tool.run'
}

function since(startedAt: number): number {
  return Math.round(performance.now() - startedAt)
}
