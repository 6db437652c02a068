import type { ModelSettings } from '../protocol/index.ts'
import { isObject, kindOf } from '../protocol/index.ts'
import type { OptionTable, Problem } from '../tools/index.ts'
import { anObject } from '../tools/index.ts'

// What agent(), a run and prepareRound check alike.

export function modelProblem(value: unknown): Problem {
  const sound =
    isObject(value) &&
    typeof value.id === 'string' &&
    typeof value.stream === 'function' &&
    isObject(value.capabilities)
  return !sound && `must be a Model (with id, capabilities and stream), not ${kindOf(value)}`
}

export function toolsProblem(value: unknown): Problem {
  if (!Array.isArray(value)) return `must be an array of tools, not ${kindOf(value)}`
  const names = new Set<string>()
  for (const tool of value) {
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

const aNumber = (value: unknown): Problem => typeof value !== 'number' && `is ${kindOf(value)}, not a number`

const settings: OptionTable<ModelSettings> = {
  temperature: aNumber,
  topP: aNumber,
  maxOutputTokens: aNumber,
  seed: aNumber,
  stop: (value) => !Array.isArray(value) && `is ${kindOf(value)}, not an array`,
  reasoning: (value) =>
    !['none', 'minimal', 'low', 'medium', 'high'].includes(value as string) &&
    'is none of none, minimal, low, medium, high',
  parallelToolCalls: (value) => typeof value !== 'boolean' && 'is neither true nor false',
  extra: anObject,
}

export function settingsProblem(value: unknown): Problem {
  if (!isObject(value)) return anObject(value)
  for (const [key, setting] of Object.entries(value)) {
    if (!Object.hasOwn(settings, key))
      return `has no '${key}': what only one provider knows goes into 'extra'`
    const problem = setting !== undefined && settings[key as keyof ModelSettings](setting)
    if (problem) return `: '${key}' ${problem}`
  }
  return undefined
}
