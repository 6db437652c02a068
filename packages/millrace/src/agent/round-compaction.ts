import type { LiveLog } from '../log/index.ts'
import type {
  Message,
  MillraceError,
  Model,
  ModelRequest,
  RunEvent,
  RunRequest,
  RunTelemetry,
} from '../protocol/index.ts'
import { nextRequestOf } from '../protocol/index.ts'
import type { Asker } from './ask.ts'
import type { Reached, RunBudget } from './budget.ts'
import type { CompactionInput, CompactionResult } from './compact.ts'
import { compactConversation } from './compact.ts'
import { estimateInput } from './context-size.ts'
import type { LoopOptions } from './options.ts'
import type { RoundPlan } from './request.ts'
import { toRequest } from './request.ts'
import type { RequestCosts } from './request-costs.ts'
import type { withRequest } from './run-request.ts'

/** Compacts the conversation of a run between its requests, and reports what that cost. */
export interface RoundCompaction {
  /** Emits the summary, if there is one. */
  run(reason: CompactionInput['reason'], model: Model): Promise<CompactionResult>
  /** What came with the messages of the latest round, or of the first one. */
  request(): RunRequest | undefined
  /** Ends the request in progress. */
  stop(error: MillraceError): void
}

/** What the rounds of a run share. */
export interface RoundContext<Context> {
  readonly runId: string
  readonly log: LiveLog
  readonly emit: (event: RunEvent) => void
  readonly telemetry: RunTelemetry | undefined
  readonly options: LoopOptions<Context>
  readonly budget: RunBudget | undefined
  /** The options of the run with what came with a message, result or decision. */
  readonly withRequest: (request: RunRequest | undefined) => ReturnType<typeof withRequest<Context>>
}

interface RoundCompactionOptions<Context> extends RoundContext<Context> {
  readonly costs: RequestCosts
  readonly plan: (
    round: number,
    messages: readonly Message[],
    request: RunRequest | undefined,
  ) => Promise<RoundPlan<Context>>
  readonly isStopped: () => boolean
}

/** A summary is at most this long. */
const maxSummaryTokens = 4096

export function roundCompaction<Context>(given: RoundCompactionOptions<Context>): RoundCompaction {
  const { runId, log, emit, telemetry, options, budget, costs, plan, withRequest, isStopped } = given
  const { prices } = options
  let compacting: AbortController | undefined
  let asker: Asker | undefined

  const latestRequest = () => (log.run.round === 0 ? nextRequestOf(log.state) : log.run.request)

  /**
   * The latest request again, so that a question after it finds it in the provider's prompt cache.
   * Undefined if it is not the whole conversation, or if its answer cannot be plain text.
   */
  async function conversationRequest(model: Model): Promise<ModelRequest | undefined> {
    const { round } = log.run
    const request = latestRequest()
    if (withRequest(request).output) return undefined
    const messages = [...log.run.history]
    const planned = await plan(Math.max(1, round), messages, request)
    const isWhole = planned.messages === messages && planned.model === model
    return isWhole ? toRequest(planned, model, undefined) : undefined
  }

  async function run(reason: CompactionInput['reason'], model: Model): Promise<CompactionResult> {
    if (!options.compact) return {}
    // Without room for it, the next check before the round says which limit is reached.
    if (budget && (await enterSummary(model))) return {}
    if (isStopped()) return {}
    compacting = new AbortController()
    const { signal } = compacting
    const compacted = await compactConversation({
      ...options,
      compact: options.compact,
      limit: options.maxContextTokens,
      state: log.run,
      reason,
      model,
      signal,
      conversation: () => conversationRequest(model),
      onAsker(created) {
        asker = created
      },
      observeAside: (call) => telemetry?.modelCall({ ...call, runId, round: log.run.round, aside: true }),
    })
    compacting = undefined
    // What it has cost so far was reported at the end of the run.
    if (isStopped()) return compacted
    if (compacted.summary) emit(compacted.summary)
    else costs.add(compacted.paid)
    budget?.leave()
    return compacted
  }

  async function enterSummary(model: Model): Promise<Reached | undefined> {
    await prices.ready(model)
    const inputTokens = estimateInput({ messages: log.run.history, tools: [], settings: {} }, log.run)
    const request = { model, price: prices.find(model), inputTokens, cachedTokens: inputTokens }
    return budget?.enter({ ...request, maxOutputTokens: maxSummaryTokens })
  }

  return {
    run,
    request: latestRequest,
    stop(error) {
      if (!compacting) return
      compacting.abort(error)
      costs.add(asker?.paid)
    },
  }
}
