import type { LiveLog } from '../log/index.ts'
import type {
  ContextUse,
  DoneEvent,
  FailedRequest,
  Model,
  ModelRequest,
  Paid,
  TokenEstimate,
} from '../protocol/index.ts'
import { checkUsage } from '../protocol/index.ts'
import { sizeOf } from './as-text.ts'
import { addPaid } from './ask.ts'
import { compactAt } from './compact.ts'
import { contextUse, estimateInput, estimateOutput, sizeOfRequest } from './context-size.ts'
import type { Elapsed } from './generation.ts'
import type { LoopOptions } from './options.ts'

/**
 * What the requests of a run cost. Each request is reported by one event: the end of its round or,
 * if it failed, the retraction or retry that follows.
 */
export interface RequestCosts {
  /** A request was sent. `elapsed` tells whether the provider has answered. */
  sent(request: SentRequest): void
  /** The request failed; `done` if it was complete but of no use. */
  fail(done?: DoneEvent): void
  /** The request was sent by a process that died. */
  lose(): Promise<void>
  /** Further requests failed or were of no use, such as for a summary. */
  add(paid: FailedRequest | undefined): void
  /** The failed generation is continued: it is not paid again. */
  resume(): void
  /** For the event that follows a failure. */
  takeFailed(): { readonly failed?: FailedRequest }
  /** For the end of a round that is interrupted. */
  takeInterrupted(): Paid
  /** For the end of a round. */
  takeDone(done: DoneEvent): Paid & { readonly context: ContextUse }
}

interface SentRequest {
  readonly model: Model
  readonly request: ModelRequest
  readonly elapsed: () => Elapsed
}

export function requestCosts(
  log: LiveLog,
  {
    prices,
    budget,
    maxContextTokens,
    compact,
  }: Pick<LoopOptions<never>, 'prices' | 'budget' | 'maxContextTokens' | 'compact'>,
  /** The options of the current round. */
  ofRound: () => Pick<LoopOptions<never>, 'models' | 'system' | 'tools'>,
): RequestCosts {
  let current: SentRequest | undefined
  let failed: FailedRequest | undefined
  /** The current round was started here, or what a lost process has spent on it is in the log. */
  let isOwn = false

  function paidFor(model: Model | undefined, used: Pick<Paid, 'usage' | 'estimate'>): Paid {
    const cost = model && prices.find(model)?.costOf(used.usage ?? used.estimate ?? {})
    return { ...used, ...(cost && { cost }) }
  }

  function usedBy(
    request: ModelRequest,
    { usage }: Partial<DoneEvent> = {},
  ): Pick<Paid, 'usage' | 'estimate'> {
    return usage ? { usage: checkUsage(usage) } : { estimate: estimateOf(request) }
  }

  /** What was sent, and what was received so far. */
  function estimateOf(request: ModelRequest): TokenEstimate {
    const { draft, openInputs } = log.run
    const answer = draft.message()
    let chars = answer ? sizeOf(answer) : 0
    for (const { raw } of openInputs.values()) chars += raw.length
    return { inputTokens: estimateInput(request, log.run), outputTokens: estimateOutput(chars) }
  }

  /** Undefined if the provider has sent nothing. */
  function failedRequest(done?: DoneEvent): FailedRequest | undefined {
    if (!current || current.elapsed().firstEventMs === undefined) return undefined
    const { model, request } = current
    return { model: model.id, ...paidFor(model, usedBy(request, done)) }
  }

  /** The model that was asked by a process that died. */
  function lostModel(): Model | undefined {
    const { onLimit } = budget ?? {}
    const { models } = ofRound()
    const all = typeof onLimit === 'object' ? [...models, onLimit.model] : models
    return all.find(({ id }) => id === log.run.model)
  }

  /** It was probably paid. How far it got beyond what is in the log is not known. */
  function lostRequest(): FailedRequest {
    const { history, model: id } = log.run
    const model = lostModel()
    const { system, tools } = ofRound()
    const messages = system ? [{ role: 'system', content: system } as const, ...history] : history
    return { model: id, ...paidFor(model, usedBy({ messages, tools: tools(), settings: {} })) }
  }

  function contextAfter(
    { model, request }: SentRequest,
    { usage, estimate }: Paid,
    { contextTokens }: DoneEvent,
  ): ContextUse {
    const { inputTokens = 0, outputTokens = 0 } = usage ?? estimate ?? {}
    const size = sizeOfRequest(request)
    return contextUse(
      { ...size, history: size.history + outputTokens },
      contextTokens ?? inputTokens + outputTokens,
      {
        limit: maxContextTokens ?? prices.find(model)?.contextTokens,
        compactAt: compact && maxContextTokens && compactAt(maxContextTokens),
      },
    )
  }

  return {
    sent(request) {
      current = request
      isOwn = true
    },
    fail(done) {
      failed = failedRequest(done)
      current = undefined
    },
    async lose() {
      if (log.run.phase !== 'generating') return
      const model = lostModel()
      if (model) await prices.ready(model)
      failed = lostRequest()
    },
    add(paid) {
      if (paid) failed = addPaid(failed, paid)
    },
    resume() {
      failed = undefined
    },
    takeFailed() {
      const taken = failed
      failed = undefined
      isOwn = true
      return taken ? { failed: taken } : {}
    },
    takeInterrupted() {
      const { model, ...paid } = failed ?? failedRequest() ?? (isOwn ? { model: '' } : lostRequest())
      failed = current = undefined
      return paid
    },
    takeDone(done) {
      const sent = current as SentRequest
      current = undefined
      const paid = paidFor(sent.model, usedBy(sent.request, done))
      return { ...paid, context: contextAfter(sent, paid, done) }
    },
  }
}
