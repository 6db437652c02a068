import { isObject, nameOf } from './json.ts'
import type { ModelCapabilities } from './model.ts'
import { anObject, type OptionTable, oneOf, type Problem, unknownField, yesOrNo } from './option-table.ts'
import type { ModelSettings } from './run-request.ts'

const aNumber = (value: unknown): Problem =>
  !Number.isFinite(value) && `must be a number, not ${nameOf(value)}`

const anArrayOfStrings = (value: unknown): Problem =>
  !(Array.isArray(value) && value.every((text) => typeof text === 'string')) && 'must be an array of strings'

export const settingsTable: OptionTable<ModelSettings> = {
  temperature: aNumber,
  topP: aNumber,
  maxOutputTokens: aNumber,
  seed: aNumber,
  stop: anArrayOfStrings,
  reasoning: oneOf('none', 'minimal', 'low', 'medium', 'high'),
  parallelToolCalls: yesOrNo,
  extra: extraProblem,
  headers: headersProblem,
}

function extraProblem(value: unknown): Problem {
  if (!isObject(value)) return anObject(value)
  // `extra` overrides the request. Even `stream: undefined` would remove the field from it.
  return (
    Object.hasOwn(value, 'stream') &&
    value.stream !== true &&
    "must not turn off streaming, since Millrace always streams: remove 'stream' from 'extra'"
  )
}

function headersProblem(value: unknown): Problem {
  // The entries of a `Headers` object are not properties.
  const plain = isObject(value) && !(value instanceof Headers)
  if (!plain || Object.values(value).some((text) => typeof text !== 'string'))
    return 'must be a plain object of strings'
  const bad = Object.keys(value).find((name) => !/^[\w!#$%&'*+.^`|~-]+$/.test(name))
  return bad !== undefined && `has ${nameOf(bad)}, which is not a valid header name`
}

const capabilities: OptionTable<ModelCapabilities> = {
  tools: yesOrNo,
  images: yesOrNo,
  files: yesOrNo,
  reasoning: yesOrNo,
  streaming: yesOrNo,
  structuredOutput: yesOrNo,
}

export function capabilitiesProblem(value: unknown): Problem {
  if (!isObject(value)) return anObject(value)
  const unknown = unknownField(value, capabilities)
  if (unknown) return unknown
  for (const [key, has] of Object.entries(value)) {
    const problem = has !== undefined && capabilities[key as keyof ModelCapabilities](has)
    if (problem) return `: '${key}' ${problem}`
  }
  return undefined
}

export function settingsProblem(value: unknown): Problem {
  if (!isObject(value)) return anObject(value)
  const unknown = unknownField(value, settingsTable)
  if (unknown) return `${unknown}; provider-specific settings go into 'extra'`
  for (const [key, setting] of Object.entries(value)) {
    const problem = setting !== undefined && settingsTable[key as keyof ModelSettings](setting)
    if (problem) return `: '${key}' ${problem}`
  }
  return undefined
}

/** Settings in `over` replace those in `under`; `extra` and `headers` are merged field by field. */
export function mergeSettings(under: ModelSettings, over: ModelSettings): ModelSettings {
  const defined = Object.entries(over).filter(([, value]) => value !== undefined)
  return {
    ...under,
    ...Object.fromEntries(defined),
    ...(under.extra && over.extra && { extra: { ...under.extra, ...over.extra } }),
    ...(under.headers && over.headers && { headers: { ...under.headers, ...over.headers } }),
  }
}
