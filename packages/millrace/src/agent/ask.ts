import type {
  CallObserver,
  Clock,
  DoneEvent,
  Model,
  ModelCall,
  ModelRequest,
  ModelSettings,
  OptionTable,
  Usage,
} from '../protocol/index.ts'
import {
  addUsage,
  checkOptions,
  checkUsage,
  MillraceError,
  noUsage,
  sleep,
  someText,
  toMillraceError,
} from '../protocol/index.ts'
import { generate } from './generation.ts'
import { modelList, modelProblem } from './option-checks.ts'
import type { RetryPolicy } from './retry.ts'
import { modelSelector } from './retry.ts'

/** A question for a model, outside of the conversation. */
export interface Question {
  readonly prompt: string
  readonly system?: string | undefined
  /** Defaults to the model of the round. */
  readonly model?: Model | undefined
}

export interface AskOptions {
  readonly model: Model
  /** Only the headers apply to questions; the other settings are for answers to the user. */
  readonly settings: ModelSettings
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
  /** The sum of all answers so far; undefined if no model reported any. */
  readonly usage: Usage | undefined
}

const questionTable: OptionTable<Question> = {
  prompt: someText,
  system: someText,
  model: modelProblem,
}

/** Asks models with the agent's timeouts and retries. */
export function createAsker(options: AskOptions, signal: AbortSignal): Asker {
  const { settings, clock, retry } = options
  const { headers } = settings
  let usage: Usage | undefined

  async function ask(question: Question): Promise<string> {
    checkOptions({ ...question, prompt: question.prompt ?? null }, questionTable, {
      op: 'ask',
      what: 'ask: the field',
    })
    const { prompt, system, model = options.model } = question
    const request: ModelRequest = {
      messages: [
        ...(system ? [{ role: 'system', content: system } as const] : []),
        { role: 'user', content: prompt },
      ],
      tools: [],
      settings: headers ? { headers } : {},
    }
    const selector = modelSelector(modelList([model], { op: 'ask', requireStreaming: false }), retry)
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted()
      const { text, done, error } = await generateText({ model: selector.model, request, attempt })
      if (done?.usage) usage = addUsage(usage ?? noUsage, checkUsage(done.usage))
      if (done) return readText(text, done, selector.model)
      signal.throwIfAborted()
      const delayMs = selector.onFailure(error)
      if (delayMs === undefined) throw error
      await sleep(delayMs, { clock, signal })
    }
  }

  async function generateText(call: Pick<ModelCall, 'attempt' | 'model' | 'request'>) {
    const { firstEventMs, idleMs } = options
    let text = ''
    const generation = generate({
      model: call.model,
      request: call.request,
      clock,
      firstEventMs,
      idleMs,
      onEvent(event) {
        if (event.type === 'text') text += event.text
        if (event.type === 'restart') text = ''
      },
      observer: options.observeAside(call),
    })
    const stop = () =>
      generation.stop(toMillraceError(signal.reason, { op: 'ask', code: 'stream_interrupted' }))
    signal.addEventListener('abort', stop, { once: true })
    const end = await generation.end
    signal.removeEventListener('abort', stop)
    return { text, ...end }
  }

  return {
    ask,
    get usage() {
      return usage
    },
  }
}

function readText(text: string, { finish }: DoneEvent, { id }: Model): string {
  if (finish !== 'refusal' && finish !== 'content-filter' && text.trim()) return text.trim()
  const message = `the model '${id}' returned no answer (${finish})`
  throw new MillraceError({ op: 'ask', code: 'llm_error', message })
}
