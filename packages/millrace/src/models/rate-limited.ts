import type { SharedRate, ThreadStore } from '../log/index.ts'
import { deadline } from '../log/index.ts'
import type {
  DoneEvent,
  Model,
  ModelEvent,
  ModelStream,
  OnEvents,
  OptionTable,
  Problem,
} from '../protocol/index.ts'
import {
  aFunction,
  checkOptions,
  checkUsage,
  duration,
  errorListener,
  invalidInput,
  isObject,
  kindOf,
  MillraceError,
  nameOf,
  pushEvents,
  pushedStream,
  sleep,
  someText,
  systemClock,
  toMillraceError,
} from '../protocol/index.ts'

export interface RateLimitOptions {
  /** Where the rates are counted. All processes that use this store share the limits. */
  readonly store: Pick<ThreadStore, 'reserve'>
  readonly requestsPerMinute?: number | undefined
  /** Input and output tokens, as far as the model reports them. */
  readonly tokensPerMinute?: number | undefined
  /** Models with the same name share the limits. Default: the provider and the id of the model. */
  readonly name?: string | undefined
  /** The part of a limit that can be used at once after a pause. Default: 0.1. */
  readonly burst?: number | undefined
  /**
   * A call that would have to wait longer fails with `rate_limit` and the delay, so that an agent
   * can use its next model. Default: 4 minutes, less than an agent waits for the first event.
   */
  readonly maxWaitMs?: number | undefined
  /** Called if the store fails. Calls are not limited then. Default: writes to stderr. */
  readonly onError?: ((error: MillraceError) => void) | undefined
}

const positive = (value: unknown): Problem =>
  !(typeof value === 'number' && value > 0 && Number.isFinite(value)) &&
  `must be a positive number, not ${nameOf(value)}`

const optionTable: OptionTable<RateLimitOptions> = {
  store: (value) => !(isObject(value) && typeof value.reserve === 'function') && 'must be a ThreadStore',
  requestsPerMinute: positive,
  tokensPerMinute: positive,
  name: someText,
  burst: (value) => positive(value) || (Number(value) > 1 && `must be at most 1, not ${nameOf(value)}`),
  maxWaitMs: duration,
  onError: aFunction,
}

const op = 'rateLimited'

/** If the store takes longer, a call is not limited. */
const storeTimeoutMs = 5000

/**
 * A model that keeps the limits of a provider together with all other processes. A call waits for
 * its turn. Its tokens are known only when it has ended, so that later calls wait for them.
 */
export function rateLimited(model: Model, options: RateLimitOptions): Model {
  checkModel(model)
  if (!isObject(options as unknown))
    throw invalidInput(op, `rateLimited() takes a model and options, not ${kindOf(options)}`)
  checkOptions({ ...options, store: options.store ?? null }, optionTable, { op, what: 'the option' })
  const { store, requestsPerMinute, tokensPerMinute, burst = 0.1, maxWaitMs = 240_000 } = options
  if (requestsPerMinute === undefined && tokensPerMinute === undefined)
    throw invalidInput(op, "rateLimited() needs a limit: pass 'requestsPerMinute', 'tokensPerMinute' or both")
  const { id, provider, address, capabilities, price, simulated, background } = model
  const { name = `${provider} ${id}` } = options
  const requests = rateOf('requests', requestsPerMinute)
  const tokens = rateOf('tokens', tokensPerMinute)
  const onError = errorListener(options.onError)
  let isFailing = false

  function rateOf(unit: string, perMinute: number | undefined): SharedRate | undefined {
    if (perMinute === undefined) return undefined
    return { name: `${name} ${unit}`, perMinute, burst: Math.max(1, perMinute * burst) }
  }

  /** Never rejects: a limit that cannot be checked must not stop the agents. */
  async function reserve(rate: SharedRate | undefined, amount: number): Promise<number> {
    if (!rate) return 0
    try {
      const waitMs = await deadline(store.reserve(rate, amount), 'reserve', storeTimeoutMs)
      isFailing = false
      return waitMs
    } catch (thrown) {
      if (!isFailing) onError(unchecked(name, thrown))
      isFailing = true
      return 0
    }
  }

  /** Waits until the next request may be sent. */
  async function waitForTurn(signal: AbortSignal): Promise<void> {
    const [requestsMs, tokensMs] = await Promise.all([reserve(requests, 1), reserve(tokens, 0)])
    const waitMs = Math.max(requestsMs, tokensMs)
    if (waitMs > maxWaitMs) {
      void reserve(requests, -1)
      throw tooLong(name, requestsMs > tokensMs ? 'requests' : 'tokens', waitMs)
    }
    if (waitMs > 0) await sleep(waitMs, { clock: systemClock, signal })
    if (signal.aborted) void reserve(requests, -1)
    signal.throwIfAborted()
  }

  /** The same stream; the tokens that it reports at its end are reserved. */
  function counted(stream: ModelStream, onEvents: OnEvents): Promise<void> {
    return pushEvents(stream, (events) => {
      const { inputTokens = 0, outputTokens = 0 } = usageIn(events)
      if (inputTokens + outputTokens > 0) void reserve(tokens, inputTokens + outputTokens)
      return onEvents(events)
    })
  }

  return {
    id,
    provider,
    address,
    capabilities,
    price,
    simulated,
    stream: (request, options) =>
      pushedStream(async (onEvents) => {
        await waitForTurn(options.signal)
        await counted(model.stream(request, options), onEvents)
      }),
    background: background && {
      // It continues a generation that had its turn.
      resume: (...args) => pushedStream((onEvents) => counted(background.resume(...args), onEvents)),
      cancel: (...args) => background.cancel(...args),
    },
  }
}

function checkModel(model: unknown): asserts model is Model {
  if (!isObject(model) || typeof model.stream !== 'function' || !isObject(model.capabilities))
    throw invalidInput(op, `rateLimited() takes a model, not ${kindOf(model)}`)
  if (model.models)
    throw invalidInput(
      op,
      'rateLimited() takes one model, not a fallback list: limit each model of the list, as in fallback([rateLimited(a, …), b])',
    )
}

function usageIn(events: readonly ModelEvent[]): NonNullable<DoneEvent['usage']> {
  const done = events.find((event): event is DoneEvent => event?.type === 'done')
  return checkUsage(done?.usage ?? {})
}

function tooLong(name: string, unit: 'requests' | 'tokens', waitMs: number): MillraceError {
  const seconds = Math.ceil(waitMs / 1000)
  const message = `the ${unit} per minute of '${name}' are used up for ${seconds} s: raise the limit of rateLimited(), or its maxWaitMs to wait longer`
  return new MillraceError({
    op: 'model.stream',
    code: 'rate_limit',
    message,
    retryAfterMs: Math.ceil(waitMs),
  })
}

function unchecked(name: string, thrown: unknown): MillraceError {
  const cause = toMillraceError(thrown, { op, code: 'store_error' })
  const message = `the limits of '${name}' cannot be checked, so calls are not limited: ${cause.message}`
  return new MillraceError({ op, code: 'store_error', message, cause })
}
