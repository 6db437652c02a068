import { isObject } from '../protocol/index.ts'
import type { Tool, Toolbox } from './tool.ts'

export function isToolbox(value: unknown): value is Toolbox {
  return isObject(value) && !('schema' in value) && Array.isArray(value.tools)
}

/**
 * The notices of all tools, without duplicates. Rejects if one of them cannot work on this machine.
 */
export async function noticesOf(list: readonly (Tool | Toolbox)[]): Promise<readonly string[]> {
  const notices = await Promise.all(list.map((one) => one.notices?.() ?? []))
  return [...new Set(notices.flat())]
}

/** The current tools. If toolboxes have tools with the same name, the first one is used. */
export function toolsIn<Context>(
  list: readonly (Tool<Context> | Toolbox<Context>)[],
): readonly Tool<Context>[] {
  if (!list.some(isToolbox)) return list as readonly Tool<Context>[]
  const byName = new Map<string, Tool<Context>>()
  for (const one of list.flatMap((one) => (isToolbox(one) ? one.tools : [one as Tool<Context>])))
    if (!byName.has(one.name)) byName.set(one.name, one)
  return [...byName.values()]
}
