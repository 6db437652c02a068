import type { Model, ModelCapabilities } from '../protocol/index.ts'
import { invalidInput, isObject, kindOf } from '../protocol/index.ts'

/**
 * Models to be tried one after the other, as one. An agent takes the list out of it: it repeats what may pass, tries the next when one
 * has failed for good, and takes back what was shown (see docs/agents.md). Used without an agent it goes on to the next only
 * while nothing has been said, since a stream cannot take back.
 */
export function fallback(models: readonly [Model, ...Model[]] | readonly Model[]): Model {
  const op = 'fallback'
  if (!Array.isArray(models))
    throw invalidInput(op, `fallback() takes an array of models, not ${kindOf(models)}`)
  for (const model of models as readonly unknown[])
    if (!isObject(model) || typeof model.stream !== 'function' || !isObject(model.capabilities))
      throw invalidInput(op, `fallback() takes models, and there is ${kindOf(model)} among them`)
  const list: readonly Model[] = models
  const [first] = list
  if (!first) throw invalidInput(op, 'fallback() needs at least one model')

  return {
    id: list.map(({ id }) => id).join(' or '),
    provider: first.provider,
    capabilities: sharedBy(list),
    models: list,
    async *stream(request, options) {
      for (const [at, model] of list.entries()) {
        let told = false
        try {
          for await (const event of model.stream(request, options)) {
            told = true
            yield event
          }
          // One that ends without a word has failed as well; what to make of half an answer is the reader's business.
          if (told) return
        } catch (error) {
          if (told || at === list.length - 1 || options.signal.aborted) throw error
        }
      }
    },
  }
}

/** What each of them can do. */
function sharedBy(models: readonly Model[]): ModelCapabilities {
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
