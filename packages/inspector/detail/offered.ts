import type { CallView } from 'millrace/view'

export interface ToolUse {
  readonly name: string
  readonly calls: readonly CallView[]
  /** For how long it ran, all calls together. */
  readonly ms: number
  readonly failed: number
  /** The model called what nobody had offered. What a provider runs itself is not on the list, and is no fault. */
  readonly isFault: boolean
}

/** Tools by name: those that were offered in their order, if that is known, then those that were called all the same. */
export function toolUses(calls: readonly CallView[], offered?: readonly string[]): ToolUse[] {
  const called = Map.groupBy(calls, ({ name }) => name)
  return [...new Set([...(offered ?? []), ...called.keys()])].map((name) => {
    const own = called.get(name) ?? []
    return {
      name,
      calls: own,
      ms: own.reduce((ms, { result }) => ms + (result?.ms ?? 0), 0),
      failed: own.filter(({ result }) => result?.isError).length,
      isFault: offered?.includes(name) === false && own.some(({ provider }) => !provider),
    }
  })
}
