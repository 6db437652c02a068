import type { ExchangeStore, ThreadStore } from '../threads/index.ts'
import { loadPostgres } from './open-store.ts'
import type { StoreAddress } from './store-address.ts'

/**
 * Where recorded exchanges are stored: in the same PostgreSQL database, or next to the database
 * file, under its name, since the folder may hold several database files.
 */
export async function exchangesOf(address: StoreAddress, store: ThreadStore): Promise<ExchangeStore> {
  if (address.kind === 'sqlite') {
    const { exchangeFolder } = await import('../server/index.ts')
    return exchangeFolder(`${address.path}-exchanges`)
  }
  const { postgresExchanges } = await loadPostgres('a PostgreSQL store')
  return postgresExchanges(store)
}
