export type Environment = Readonly<Record<string, string | undefined>>

/** Not every platform with `fetch` has a `process`. */
export function environment(): Environment {
  return (globalThis as { process?: { env?: Environment } }).process?.env ?? {}
}
