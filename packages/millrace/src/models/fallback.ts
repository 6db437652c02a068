import type { Model, ModelCapabilities } from '../protocol/index.ts'
import { invalidInput, isObject, kindOf } from '../protocol/index.ts'

/**
 * Combines models that are tried in order. An agent handles the list itself: it retries temporary
 * failures, moves on to the next model after a permanent one, and retracts partial output (see
 * docs/reference/agents.md). Used without an agent, it moves on only if nothing was emitted, since
 * a stream cannot be retracted.
 */
export function fallback(models: readonly [Model, ...Model[]] | readonly Model[]): Model {
  const op = 'fallback'
  if (!Array.isArray(models))
    throw invalidInput(op, `fallback() takes an array of models, not ${kindOf(models)}`)
  for (const model of models as readonly unknown[])
    if (!isObject(model) || typeof model.stream !== 'function' || !isObject(model.capabilities))
      throw invalidInput(op, `fallback() takes an array of models, but it contains ${kindOf(model)}`)
  const list: readonly Model[] = models
  const [first] = list
  if (!first) throw invalidInput(op, 'fallback() needs at least one model')

  return {
    id: list.map(({ id }) => id).join(' or '),
    provider: first.provider,
    capabilities: sharedCapabilities(list),
    models: list,
    async *stream(request, options) {
      for (const [at, model] of list.entries()) {
        let emitted = false
        try {
          for await (const event of model.stream(request, options)) {
            emitted = true
            yield event
          }
          // A model that ends without any event has failed as well. How to handle half an answer is
          // up to the caller.
          if (emitted) return
        } catch (error) {
          if (emitted || at === list.length - 1 || options.signal.aborted) throw error
        }
      }
    },
  }
}

/** The capabilities that all of them have. */
function sharedCapabilities(models: readonly Model[]): ModelCapabilities {
  const all = (capability: keyof ModelCapabilities) =>
    models.every(({ capabilities }) => capabilities[capability])
  return {
    tools: all('tools'),
    images: all('images'),
    files: all('files'),
    reasoning: all('reasoning'),
    streaming: all('streaming'),
    structuredOutput: all('structuredOutput'),
  }
}
