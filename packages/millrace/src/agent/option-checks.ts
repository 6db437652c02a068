import type { Model, Problem } from '../protocol/index.ts'
import { invalidInput, isObject, kindOf, MillraceError, unknownField } from '../protocol/index.ts'
import { isToolbox } from '../tools/index.ts'

// Checks shared by agent(), run options and prepareRound.

export function modelProblem(value: unknown): Problem {
  const isModel =
    isObject(value) &&
    typeof value.id === 'string' &&
    typeof value.stream === 'function' &&
    isObject(value.capabilities)
  const hint = typeof value === 'string' ? `: ${modelSuggestion(value)}` : ''
  return !isModel && `must be a Model (with id, capabilities and stream), not ${kindOf(value)}${hint}`
}

/** What to write instead of a model name, with or without its provider. */
function modelSuggestion(name: string): string {
  const [, provider, model = name] = /^([\w-]+)[/:](.+)$/.exec(name) ?? []
  const suggest = (call: string, entry: string) =>
    `write ${call}, with import { ${call.replace(/\(.*/, '')} } from 'millrace/${entry}'`
  if (provider === 'openai' || (!provider && /^(gpt|chatgpt|o\d)/.test(name)))
    return suggest(`openai('${model}')`, 'openai')
  if (provider === 'anthropic' || (!provider && name.startsWith('claude')))
    return suggest(`anthropic('${model}')`, 'anthropic')
  const other = suggest(`openaiChat('${model}', { baseURL: '…' })`, 'openai')
  return `${other}, or use detectModel()`
}

/**
 * The models in the order in which they are tried, with fallback lists expanded. Throws
 * `invalid_input` on anything that is not a model, and `streaming_not_supported` on a model that
 * cannot stream if streaming is required.
 */
export function modelList(
  models: readonly Model[],
  options: { readonly op: string; readonly requireStreaming: boolean },
): Model[] {
  const { op, requireStreaming } = options
  return models.flatMap((model) => {
    const problem = modelProblem(model)
    if (problem) throw invalidInput(op, `an entry in the list of models ${problem}`)
    if (model.models) return modelList(model.models, options)
    if (requireStreaming && !model.capabilities.streaming)
      throw new MillraceError({
        op,
        code: 'streaming_not_supported',
        message: `the model '${model.id}' does not stream, and requireStreaming is set: use a model that streams`,
      })
    return [model]
  })
}

/**
 * The default model and the others that are offered. A request names them by their ids, so each
 * id must stand for one model.
 */
export function choicesOf(models: readonly Model[], offered: readonly Model[], op: string): readonly Model[] {
  for (const model of offered)
    if ([...models, ...offered].some((other) => other !== model && other.id === model.id))
      throw invalidInput(op, `the agent option 'models' has a second model with the id '${model.id}'`)
  return [...new Set([models[0] as Model, ...offered])]
}

export function startersProblem(value: unknown): Problem {
  if (!Array.isArray(value)) return `must be an array of messages, not ${kindOf(value)}`
  const invalid = value.findIndex((text) => typeof text !== 'string' || text.trim() === '')
  return invalid >= 0 && `must contain only text that is not empty: see number ${invalid + 1}`
}

export function toolsProblem(value: unknown): Problem {
  if (!Array.isArray(value)) return `must be an array of tools or toolboxes, not ${kindOf(value)}`
  const names = new Set<string>()
  for (const tool of value.flatMap((one) => (isToolbox(one) ? one.tools : one))) {
    if (tool instanceof Promise) return 'contains a promise: await it, as in [await mcp({ … })]'
    if (!isObject(tool) || !isObject(tool.schema)) return 'must contain only tools created with tool({ … })'
    const name = String(tool.name)
    if (names.has(name)) return `has two tools named '${name}': give each its own name`
    names.add(name)
  }
  return undefined
}

export function repeatLimitsProblem(value: unknown): Problem {
  if (value === false) return undefined
  const { warn, block } = isObject(value) ? value : {}
  if (!isObject(value) || !(Number(warn) >= 2 && Number(block) >= Number(warn)))
    return 'must be false or { warn, block } with 2 ≤ warn ≤ block'
  return unknownField(value, { warn, block })
}

export function toolChoiceProblem(value: unknown): Problem {
  const isValid = isObject(value)
    ? typeof value.name === 'string'
    : ['auto', 'none', 'required'].includes(value as string)
  if (!isValid) return "must be 'auto', 'none', 'required' or { name }"
  return isObject(value) && unknownField(value, { name: true })
}

/** The options without those that are undefined. */
export function definedOptions<Options extends object>(
  options: Options,
): { [Name in keyof Options]?: Exclude<Options[Name], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Options
}
