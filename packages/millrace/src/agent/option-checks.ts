import type { Model, Problem } from '../protocol/index.ts'
import { invalidInput, isObject, kindOf, MillraceError, unknownField } from '../protocol/index.ts'
import { isToolbox } from '../tools/index.ts'

// What agent(), a run and prepareRound check alike.

export function modelProblem(value: unknown): Problem {
  const sound =
    isObject(value) &&
    typeof value.id === 'string' &&
    typeof value.stream === 'function' &&
    isObject(value.capabilities)
  const instead = typeof value === 'string' ? `: ${modelCall(value)}` : ''
  return !sound && `must be a Model (with id, capabilities and stream), not ${kindOf(value)}${instead}`
}

/** What to write instead of the name of a model, with or without its provider. */
function modelCall(name: string): string {
  const [, provider, model = name] = /^([\w-]+)[/:](.+)$/.exec(name) ?? []
  const writing = (call: string, entry: string) =>
    `write ${call}, with import { ${call.replace(/\(.*/, '')} } from 'millrace/${entry}'`
  if (provider === 'openai' || (!provider && /^(gpt|chatgpt|o\d)/.test(name)))
    return writing(`openai('${model}')`, 'openai')
  if (provider === 'anthropic' || (!provider && name.startsWith('claude')))
    return writing(`anthropic('${model}')`, 'anthropic')
  const other = writing(`openaiChat('${model}', { baseURL: '…' })`, 'openai')
  return `${other}, or use what detectModel() finds`
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

export function repeatLimitsProblem(value: unknown): Problem {
  if (value === false) return undefined
  const { warn, refuse } = isObject(value) ? value : {}
  if (!isObject(value) || !(Number(warn) >= 2 && Number(refuse) >= Number(warn)))
    return 'must be false or { warn, refuse } with 2 ≤ warn ≤ refuse'
  return unknownField(value, { warn, refuse })
}

export function toolChoiceProblem(value: unknown): Problem {
  const sound = isObject(value)
    ? typeof value.name === 'string'
    : ['auto', 'none', 'required'].includes(value as string)
  if (!sound) return "must be 'auto', 'none', 'required' or { name }"
  return isObject(value) && unknownField(value, { name: true })
}
