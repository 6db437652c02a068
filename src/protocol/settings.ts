import { isObject, kindOf } from './json.ts'
import type { ModelSettings } from './model.ts'
import { anObject, type OptionTable, oneOf, type Problem, yesOrNo } from './option-table.ts'

const aNumber = (value: unknown): Problem => typeof value !== 'number' && `is ${kindOf(value)}, not a number`

const texts = (value: unknown): Problem =>
  !(Array.isArray(value) && value.every((text) => typeof text === 'string')) && 'must be an array of strings'

export const settingsTable: OptionTable<ModelSettings> = {
  temperature: aNumber,
  topP: aNumber,
  maxOutputTokens: aNumber,
  seed: aNumber,
  stop: texts,
  reasoning: oneOf('none', 'minimal', 'low', 'medium', 'high'),
  parallelToolCalls: yesOrNo,
  extra: anObject,
  headers: (value) =>
    !(isObject(value) && Object.values(value).every((text) => typeof text === 'string')) &&
    'must be an object of strings',
}

export function settingsProblem(value: unknown): Problem {
  if (!isObject(value)) return anObject(value)
  for (const [key, setting] of Object.entries(value)) {
    if (!Object.hasOwn(settingsTable, key))
      return `has no '${key}': what only one provider knows goes into 'extra'`
    const problem = setting !== undefined && settingsTable[key as keyof ModelSettings](setting)
    if (problem) return `: '${key}' ${problem}`
  }
  return undefined
}

/** Settings laid over others: each one replaces its counterpart, only `extra` and `headers` are joined field by field. */
export function mergeSettings(under: ModelSettings, over: ModelSettings): ModelSettings {
  const given = Object.entries(over).filter(([, value]) => value !== undefined)
  return {
    ...under,
    ...Object.fromEntries(given),
    ...(under.extra && over.extra && { extra: { ...under.extra, ...over.extra } }),
    ...(under.headers && over.headers && { headers: { ...under.headers, ...over.headers } }),
  }
}
