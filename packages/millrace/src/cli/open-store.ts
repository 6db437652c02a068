import type { ThreadStore } from '../threads/index.ts'
import type { OpenData } from './data.ts'
import { openData } from './data.ts'
import { loadPackage } from './packages.ts'
import type { StoreAddress } from './store-address.ts'

/** Loaded on demand: threads in a file do not need it. */
export function loadPostgres(flag: string) {
  return loadPackage(() => import('@millrace/postgres'), { flag, install: '@millrace/postgres' })
}

/**
 * Opens a store and checks that it can be used. A file is created if it does not exist, unless
 * `mustExist` is set.
 */
export async function openStore(address: StoreAddress, options: OpenData = {}): Promise<ThreadStore> {
  if (address.kind === 'sqlite') return openData(address.path, options)
  const { postgresStore } = await loadPostgres('a PostgreSQL store')
  const store = postgresStore(address.url, { listenUrl: address.listenUrl })
  try {
    // Connects, and creates the tables if they do not exist.
    await store.get('check')
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}
