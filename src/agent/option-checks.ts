import type { Problem } from '../protocol/index.ts'
import { isObject, kindOf } from '../protocol/index.ts'

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
