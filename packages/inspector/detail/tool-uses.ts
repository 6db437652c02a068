import type { CallView } from 'millrace/view'

export interface ToolUse {
  readonly name: string
  readonly calls: readonly CallView[]
  /** The total run time of its calls. */
  readonly ms: number
  readonly failed: number
  /** The model called it without being offered it. Never true for tools that the provider runs. */
  readonly wasNotOffered: boolean
}

/** The offered tools in order, if known, then other tools that were called. */
export function toolUses(calls: readonly CallView[], offered?: readonly string[]): ToolUse[] {
  const called = Map.groupBy(calls, ({ name }) => name)
  return [...new Set([...(offered ?? []), ...called.keys()])].map((name) => {
    const own = called.get(name) ?? []
    return {
      name,
      calls: own,
      ms: own.reduce((ms, { result }) => ms + (result?.ms ?? 0), 0),
      failed: own.filter(({ result }) => result?.isError).length,
      wasNotOffered: offered?.includes(name) === false && own.some(({ provider }) => !provider),
    }
  })
}
