import { exchangeFolder } from '../server/index.ts'
import type { ExchangeStore } from '../threads/index.ts'
import { dataPath } from './data.ts'

/** Where a server keeps what goes to models: beside its threads, and named after their file, since another may lie there too. */
export function exchangesAt(data: string | undefined): ExchangeStore {
  return exchangeFolder(`${dataPath(data)}-exchanges`)
}
