import { exchangeFolder } from '../server/index.ts'
import type { ExchangeStore } from '../threads/index.ts'
import { dataPath } from './data.ts'

/**
 * Where recorded exchanges are stored: next to the database file, under its name, since the folder
 * may hold several database files.
 */
export function exchangesAt(data: string | undefined): ExchangeStore {
  return exchangeFolder(`${dataPath(data)}-exchanges`)
}
