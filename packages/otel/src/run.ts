import type { Attributes, Context, Link } from '@opentelemetry/api'
import { context, isSpanContextValid, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api'
import type { Message, RunEvent, Usage } from 'millrace'
import { addUsage, noUsage } from 'millrace'
import type { RunBeginning, RunEndEvent, RunTelemetry } from 'millrace/internal'
import { handleBy } from 'millrace/internal'
import type { OpenCall } from './call.ts'
import { beginCall, fail, finishName } from './call.ts'
import { inputOf, outputOf } from './content.ts'
import { withError } from './instruments.ts'
import type { Kit } from './kit.ts'
import { toolSpans } from './tool.ts'
import { readTrace, writeTrace } from './trace-context.ts'
import { usageAttributes } from './usage.ts'

/** Makes a span of a run, and of everything in it. `above` is the call that has started it, if one has. */
export function beginRun(kit: Kit, run: RunBeginning, above?: Context): RunTelemetry {
  const { agent, conversation } = run
  const { content } = kit
  const parent = above ?? parentOf(run)
  const attributes: Attributes = {
    'gen_ai.agent.name': agent,
    ...(conversation !== undefined && { 'gen_ai.conversation.id': conversation }),
  }
  const span = kit.tracer.startSpan(
    `invoke_agent ${agent}`,
    {
      kind: SpanKind.INTERNAL,
      attributes: { 'gen_ai.operation.name': 'invoke_agent', ...attributes },
      links: linksOf(run),
    },
    parent,
  )
  if (!isSpanContextValid(span.spanContext()) && !kit.instruments().isHeard) return unheard(kit)
  const own = trace.setSpan(parent, span)
  const begunAt = performance.now()
  const tools = toolSpans(kit, { context: own, agent, attributes })
  for (const open of run.resumes?.calls ?? []) tools.called(open)
  const byAgent: Attributes = { 'gen_ai.agent.name': agent }
  let call: OpenCall | undefined
  let firstAsked: Attributes | undefined
  /** The model that was asked last. */
  let asked: Attributes = {}
  /** Its own: the numbers of a run that goes on with another go on from there. */
  const rounds = new Set<number>()
  /** What it answers is on its span. The first event of a run in a thread does not hold it. */
  let hasInput = false
  /** That of `run-end` is of all the runs that it goes on with: summed up over spans, those would be paid twice. */
  let spent: Usage | undefined
  let isCompacted = false
  /** What the latest call said is not the run's. */
  let isTakenBack = false
  let isOver = false

  function end(outcome: string, { finish, error }: Partial<RunEndEvent> = {}) {
    if (isOver) return
    isOver = true
    tools.close(outcome === 'suspended' ? 'waiting' : outcome)
    const errorType = outcome === 'failed' ? (error?.code ?? '_OTHER') : undefined
    const finishReason = finish && finishName(finish)
    const isTold = finishReason !== undefined && (finish !== 'interrupted' || errorType !== undefined)
    span.setAttributes({
      ...firstAsked,
      'millrace.run.id': run.runId,
      'millrace.run.resumes': run.resumes?.runId,
      'millrace.run.outcome': outcome,
      'millrace.run.rounds': rounds.size,
      ...(spent && usageAttributes(spent)),
      'gen_ai.response.finish_reasons': isTold ? [finishReason] : undefined,
      'error.type': errorType,
    })
    const said = isTakenBack ? undefined : call?.draft?.message()
    if (said && finishReason !== undefined) put('gen_ai.output.messages', () => outputOf(said, finishReason))
    if (errorType !== undefined) fail(span, error && content?.words(span, () => error.message, { agent }))
    const instruments = kit.instruments()
    instruments.ended(agent, outcome)
    instruments.runSeconds.record((performance.now() - begunAt) / 1000, withError(byAgent, errorType))
    // Last: whoever takes it may throw.
    span.end()
  }

  function spend(usage: Partial<Usage> | undefined) {
    if (usage) spent = addUsage(spent ?? noUsage, usage)
  }

  function put(attribute: string, value: () => unknown) {
    content?.put(span, value, { attribute, agent })
  }

  function putInput(messages: readonly Message[]) {
    hasInput = true
    put('gen_ai.input.messages', () => inputOf(messages))
  }

  // Nearly all of them are words: nothing is to be done for one, unless it is to stand on the span.
  const draft = (event: RunEvent) => call?.draft?.push(event)
  const handle = handleBy({
    text: draft,
    reasoning: draft,
    'part-end': draft,
    'provider-tool': draft,
    'tool-call'(event) {
      draft(event)
      tools.called(event)
    },
    'run-start'({ losses, input }) {
      if (losses) {
        span.setAttribute('millrace.run.losses', losses)
        kit.instruments().takeovers.add(1, byAgent)
      }
      if (input.length > 0) putInput(input)
    },
    'round-start': ({ round }) => void rounds.add(round),
    'round-retry': ({ error }) =>
      kit.instruments().retries.add(1, { ...byAgent, ...asked, 'error.type': error.code }),
    'round-retract'({ round }) {
      isTakenBack = true
      span.addEvent('millrace.round.retract', { 'millrace.round': round })
      kit.instruments().retractions.add(1, byAgent)
    },
    'round-end': ({ usage }) => spend(usage),
    summary({ usage }) {
      isCompacted = true
      spend(usage)
    },
    'tool-start': tools.started,
    'approval-request': ({ callId }) => tools.asked(callId),
    'tool-result': tools.ended,
    'run-end': (event) => end(event.outcome, event),
  })

  return {
    trace: isSpanContextValid(span.spanContext()) ? writeTrace(span.spanContext()) : undefined,
    event(event) {
      // An observer may have ended the run at this very event: what begins now would never end.
      if (!isOver) handle(event)
    },
    call(given) {
      const opened = beginCall(kit, given, { context: own, agent, attributes, isCompacted })
      if (!given.aside) {
        const { model, request } = given
        const names = kit.names(model)
        asked = names.metrics
        firstAsked ??= names.run
        if (!hasInput) putInput(request.messages)
        tools.offered(request.tools)
        call = opened
        isTakenBack = false
      }
      return opened.observer
    },
    within(callId, work) {
      const inner = (callId !== undefined && tools.contextOf(callId)) || own
      return context.active() === inner ? work() : context.with(inner, work)
    },
    inside: (callId) => ({
      begin: (below) =>
        beginRun(
          kit,
          { ...below, conversation: below.conversation ?? conversation },
          tools.contextOf(callId) ?? own,
        ),
    }),
    abandoned: () => end('handed-over'),
  }
}

/** Nothing is registered that would take anything: then next to nothing is done. */
function unheard(kit: Kit): RunTelemetry {
  return {
    event() {},
    call: () => ({ end() {} }),
    within: (_, work) => work(),
    inside: () => ({ begin: (below) => beginRun(kit, below) }),
    abandoned() {},
  }
}

/** A thread's run follows from what was said last of what it answers, whoever's turn it happens to be in. */
function parentOf({ inThread, causes }: RunBeginning): Context {
  if (!inThread) return context.active()
  const cause = readTrace(causes.at(-1))
  return cause ? trace.setSpanContext(ROOT_CONTEXT, cause) : ROOT_CONTEXT
}

function linksOf({ inThread, causes, resumes }: RunBeginning): Link[] {
  const others = inThread ? causes.slice(0, -1) : causes
  return [...others, resumes?.trace].flatMap((text) => {
    const known = readTrace(text)
    return known ? [{ context: known }] : []
  })
}
