import type { Model, Problem } from '../protocol/index.ts'
import { invalidInput, isObject, kindOf, MillraceError } from '../protocol/index.ts'
import { isToolbox } from '../tools/index.ts'

// What agent(), a run and prepareRound check alike.

export function modelProblem(value: unknown): Problem {
  const sound =
    isObject(value) &&
    typeof value.id === 'string' &&
    typeof value.stream === 'function' &&
    isObject(value.capabilities)
  return !sound && `must be a Model (with id, capabilities and stream), not ${kindOf(value)}`
}

/**
 * The models in the order in which they are tried: one that stands for a list is replaced by it. Throws `invalid_input` on what is
 * no model, and `streaming_not_supported` on one that cannot stream where that is required.
 */
export function modelList(
  models: readonly Model[],
  options: { readonly op: string; readonly requireStreaming: boolean },
): Model[] {
  const { op, requireStreaming } = options
  return models.flatMap((model) => {
    const problem = modelProblem(model)
    if (problem) throw invalidInput(op, `a model of the list ${problem}`)
    if (model.models) return modelList(model.models, options)
    if (requireStreaming && !model.capabilities.streaming)
      throw new MillraceError({
        op,
        code: 'streaming_not_supported',
        message: `the model '${model.id}' gives its answer in one piece, and requireStreaming is set: use one that streams`,
      })
    return [model]
  })
}

export function toolsProblem(value: unknown): Problem {
  if (!Array.isArray(value)) return `must be an array of tools or toolboxes, not ${kindOf(value)}`
  const names = new Set<string>()
  for (const tool of value.flatMap((one) => (isToolbox(one) ? one.tools : one))) {
    if (tool instanceof Promise) return 'has a promise in it: await it, as in [await mcp({ … })]'
    if (!isObject(tool) || !isObject(tool.schema)) return 'must hold only what tool({ … }) has made'
    const name = String(tool.name)
    if (names.has(name)) return `has two tools named '${name}': give each its own name`
    names.add(name)
  }
  return undefined
}

export function toolChoiceProblem(value: unknown): Problem {
  const sound = isObject(value)
    ? typeof value.name === 'string'
    : ['auto', 'none', 'required'].includes(value as string)
  return !sound && "must be 'auto', 'none', 'required' or { name }"
}
