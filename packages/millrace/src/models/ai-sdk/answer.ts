import type { MillraceError, ModelEvent, ModelSettings, Usage } from '../../protocol/index.ts'
import { secretsIn } from '../wire/secrets.ts'
import { cutOff } from '../wire/stream-error.ts'
import { failureFrom } from './failure.ts'
import { partReader } from './parts.ts'
import type { AISDKCallOptions, AISDKModel } from './spec.ts'

/**
 * The provider paused in the middle of its turn. It continues when it gets back its partial answer.
 */
export interface PausedEvent {
  readonly type: 'paused'
  readonly usage: Partial<Usage>
}

export interface AnswerOptions {
  readonly settings: ModelSettings
  readonly toolNames: ReadonlySet<string>
  readonly signal: AbortSignal
}

/** Calls the model once and yields its events, up to `done` or `paused`. Throws only our errors. */
export async function* streamAnswer(
  model: AISDKModel,
  call: () => Promise<AISDKCallOptions>,
  { settings, toolNames, signal }: AnswerOptions,
): AsyncGenerator<ModelEvent | PausedEvent, void> {
  const { provider } = model
  const secrets = secretsIn(settings.headers ?? {})
  const failure = (thrown: unknown) => failureFrom(thrown, { provider, secrets, signal })
  const events: ModelEvent[] = []
  const answer = partReader(events, { provider, toolNames, failure })

  let reader: ReadableStreamDefaultReader<unknown>
  try {
    reader = (await model.doStream(await call())).stream.getReader()
  } catch (thrown) {
    throw failure(thrown)
  }
  // Not every provider checks the signal while it waits for bytes, so close its stream as well.
  const close = () => void reader.cancel(signal.reason).catch(() => {})
  signal.addEventListener('abort', close)
  try {
    if (signal.aborted) throw failure(undefined)
    while (!answer.done) {
      const failed = await readPart()
      // Events read before a failure are emitted before it is thrown.
      for (let at = 0; at < events.length; at++) yield events[at] as ModelEvent
      events.length = 0
      if (failed) throw failed
    }
    yield answer.paused ? { type: 'paused', usage: answer.done.usage ?? {} } : answer.done
  } finally {
    signal.removeEventListener('abort', close)
    close()
  }

  async function readPart(): Promise<MillraceError | undefined> {
    try {
      const { done, value } = await reader.read()
      if (!done) {
        answer.read(value)
        return undefined
      }
    } catch (thrown) {
      return failure(thrown)
    }
    if (signal.aborted) return failure(undefined)
    return cutOff(provider)
  }
}
