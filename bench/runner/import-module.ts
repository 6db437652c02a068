import { mkdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Client } from '../contract.ts'

export const cache = join(import.meta.dirname, '../.cache')

/** Writes what a user of this client imports where it can be resolved as from `clients/`. */
export async function importModule(name: string, { imports }: Client): Promise<string | undefined> {
  if (imports === undefined) return undefined
  await mkdir(cache, { recursive: true })
  const path = join(cache, `import-${basename(name)}.mjs`)
  await writeFile(path, `${imports}\n`)
  return path
}
