import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Client } from '../contract.ts'

/** A client of `clients/`, by its file's name, or that of any file, by its path. */
export async function loadClient(name: string): Promise<Client> {
  const file = name.includes('/') ? resolve(name) : resolve(import.meta.dirname, '../clients', `${name}.ts`)
  const { default: client }: { default: Client } = await import(pathToFileURL(file).href)
  return client
}
