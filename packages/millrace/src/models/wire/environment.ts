export type Environment = Readonly<Record<string, string | undefined>>

/** Not everywhere that fetch is there is there a process too. */
export function environment(): Environment {
  return (globalThis as { process?: { env?: Environment } }).process?.env ?? {}
}
