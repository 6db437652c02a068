import type {
  CallEnd,
  CallObserver,
  Clock,
  Cost,
  DoneEvent,
  FailedRequest,
  Model,
  ModelCall,
  ModelEvent,
  ModelRequest,
  ModelSettings,
  OptionTable,
  Paid,
  TokenEstimate,
} from '../protocol/index.ts'
import {
  addUsage,
  checkOptions,
  checkUsage,
  invalidInput,
  MillraceError,
  noUsage,
  sleep,
  someText,
  toMillraceError,
  toNanos,
  toUsd,
  yesOrNo,
} from '../protocol/index.ts'
import { estimateOutput, estimateRequest } from './context-size.ts'
import { generate } from './generation.ts'
import { modelList, modelProblem } from './option-checks.ts'
import type { Prices } from './prices.ts'
import type { RetryPolicy } from './retry.ts'
import { modelSelector } from './retry.ts'

/** A question for a model. It does not become part of the conversation. */
export interface Question {
  readonly prompt: string
  readonly system?: string | undefined
  /** Defaults to the model of the round. */
  readonly model?: Model | undefined
  /**
   * Sends the question after the conversation, as the model of the round has read it: the provider
   * reads almost all of it from its prompt cache. Rejects with `invalid_input` if that is not
   * possible: with another model or system prompt, for an agent with structured output, or if
   * `prepareRound` replaces the messages or there is not enough room for the answer.
   */
  readonly conversation?: boolean | undefined
}

export interface AskOptions {
  readonly model: Model
  /** The request of a round with the conversation so far; undefined if no question can follow it. */
  readonly conversation?: (() => Promise<ModelRequest | undefined>) | undefined
  /**
   * Only the headers apply to a question without the conversation; the other settings are for
   * answers to the user.
   */
  readonly settings: ModelSettings
  readonly prices: Prices
  readonly clock: Clock
  readonly retry: RetryPolicy
  readonly firstEventMs: number
  readonly idleMs: number
  /** Called before each model call. Must not throw. */
  readonly observeAside: (call: Pick<ModelCall, 'attempt' | 'model' | 'request'>) => CallObserver | undefined
}

export interface Asker {
  /**
   * Resolves to the text of the answer. Rejects with the model's last error, or the signal's
   * reason.
   */
  ask(question: Question): Promise<string>
  /**
   * What all requests so far used and cost, including failed ones; undefined if no provider has sent
   * anything. The model is the one that was asked last.
   */
  readonly paid: FailedRequest | undefined
}

/** Room for an answer of 500 words, and for the question. */
export const answerTokens = 1000

const questionTable: OptionTable<Question> = {
  prompt: someText,
  system: someText,
  model: modelProblem,
  conversation: yesOrNo,
}

type AskedCall = Pick<ModelCall, 'attempt' | 'model' | 'request'>

/** Asks models with the agent's timeouts and retries. */
export function createAsker(options: AskOptions, signal: AbortSignal): Asker {
  const { settings, clock, retry, prices } = options

  async function ask(question: Question): Promise<string> {
    checkOptions({ ...question, prompt: question.prompt ?? null }, questionTable, {
      op: 'ask',
      what: 'ask: the field',
    })
    const { model = options.model } = question
    const request = question.conversation ? await afterConversation(question) : alone(question)
    const selector = modelSelector(modelList([model], { op: 'ask', requireStreaming: false }), retry)
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted()
      const { answer, done, error } = await generateAnswer({ model: selector.model, request, attempt })
      if (done) return readText(answer, done, selector.model)
      signal.throwIfAborted()
      const delayMs = selector.onFailure(error)
      if (delayMs === undefined) throw error
      await sleep(delayMs, { clock, signal })
    }
  }

  function alone({ prompt, system }: Question): ModelRequest {
    const { headers } = settings
    return {
      messages: [
        ...(system ? [{ role: 'system', content: system } as const] : []),
        { role: 'user', content: prompt },
      ],
      tools: [],
      settings: headers ? { headers } : {},
    }
  }

  async function afterConversation({ prompt, system, model }: Question): Promise<ModelRequest> {
    const isSame = system === undefined && (model === undefined || model === options.model)
    const request = isSame ? await options.conversation?.() : undefined
    if (!request || (request.settings.maxOutputTokens ?? answerTokens) < answerTokens)
      throw invalidInput('ask', 'the question cannot be sent after the conversation: ask it without')
    const { messages, toolChoice, ...rest } = request
    // A forced tool could not answer. Anything else stays as it is, even though 'none' would be
    // better: "Changes to `tool_choice` parameter only affect message blocks", says Anthropic, and
    // means that it does not find them in its cache.
    const isForced = toolChoice === 'required' || typeof toolChoice === 'object'
    return {
      ...rest,
      messages: [...messages, { role: 'user', content: prompt }],
      ...(toolChoice && !isForced && { toolChoice }),
    }
  }

  async function generateAnswer(call: AskedCall) {
    const { model, request } = call
    const { firstEventMs, idleMs } = options
    // Loads prices while the model answers.
    const ready = prices.ready(model)
    let answer: Answer = { text: '', callsTool: false }
    let chars = 0
    /** What the provider sent before it started over. */
    let restarts = 0
    let voidChars = 0
    const generation = generate({
      model,
      request,
      clock,
      firstEventMs,
      idleMs,
      onEvent(event) {
        chars += charsIn(event)
        if (event.type === 'text') answer.text += event.text
        if (event.type === 'tool-input-start' || event.type === 'tool-call') answer.callsTool = true
        if (event.type === 'restart') {
          answer = { text: '', callsTool: false }
          restarts++
          voidChars = chars
        }
      },
      observer: options.observeAside(call),
    })
    let isPaid = false
    function payFor({ done }: Partial<CallEnd>) {
      if (isPaid) return
      isPaid = true
      const usage = done?.usage
      // It charges for everything that it has started to send, but reports only its last answer.
      const hasSent = generation.elapsed().firstEventMs !== undefined
      const unreported = usage ? restarts : hasSent ? restarts + 1 : 0
      if (unreported > 0) {
        const inputTokens = unreported * estimateRequest(request)
        pay(model, { estimate: { inputTokens, outputTokens: estimateOutput(usage ? voidChars : chars) } })
      }
      if (usage) pay(model, { usage: checkUsage(usage) })
    }
    const stop = () => {
      generation.stop(toMillraceError(signal.reason, { op: 'ask', code: 'stream_interrupted' }))
      // The run ends right away.
      payFor({})
    }
    signal.addEventListener('abort', stop, { once: true })
    const end = await generation.end
    signal.removeEventListener('abort', stop)
    if (ready) await ready
    payFor(end)
    return { answer, ...end }
  }

  function pay(model: Model, used: Pick<Paid, 'usage' | 'estimate'>) {
    const cost = prices.find(model)?.costOf(used.usage ?? used.estimate ?? {})
    asker.paid = addPaid(asker.paid, { ...used, ...(cost && { cost }), model: model.id })
  }

  const asker = { ask, paid: undefined as FailedRequest | undefined }
  return asker
}

/** Sums up what several requests used and cost. */
export function addPaid(before: FailedRequest | undefined, next: FailedRequest): FailedRequest {
  const usages = [before?.usage, next.usage].filter((usage) => usage !== undefined)
  const estimates = [before?.estimate, next.estimate].filter((estimate) => estimate !== undefined)
  // The sum is unknown if a part of it is.
  const cost = before ? before.cost && next.cost && addCost(before.cost, next.cost) : next.cost
  return {
    ...(usages.length > 0 && { usage: usages.reduce(addUsage, noUsage) }),
    ...(estimates.length > 0 && { estimate: estimates.reduce(addEstimate) }),
    ...(cost && { cost }),
    model: next.model,
  }
}

function addCost(a: Cost, b: Cost): Cost {
  return { usd: toUsd(toNanos(a.usd) + toNanos(b.usd)), prices: b.prices }
}

function addEstimate(a: TokenEstimate, b: TokenEstimate): TokenEstimate {
  return { inputTokens: a.inputTokens + b.inputTokens, outputTokens: a.outputTokens + b.outputTokens }
}

function charsIn(event: ModelEvent): number {
  if (event.type === 'text' || event.type === 'reasoning') return event.text.length
  return event.type === 'tool-input' ? event.delta.length : 0
}

interface Answer {
  text: string
  callsTool: boolean
}

function readText({ text, callsTool }: Answer, { finish }: DoneEvent, { id }: Model): string {
  const isRefused = finish === 'refusal' || finish === 'content-filter'
  if (!isRefused && !callsTool && text.trim()) return text.trim()
  const message = `the model '${id}' ${callsTool ? 'called a tool instead of answering' : `returned no answer (${finish})`}`
  throw new MillraceError({ op: 'ask', code: 'llm_error', message })
}
