import type { OptionTable } from '../protocol/index.ts'
import { checkOptions, invalidInput, someText, wholeNumber } from '../protocol/index.ts'
import type { ExchangeStore } from '../threads/index.ts'

export interface ExchangeFolderOptions {
  /** The total size; 256 MiB by default. The oldest exchanges are removed first. */
  readonly maxBytes?: number | undefined
}

const table: OptionTable<ExchangeFolderOptions> = { maxBytes: wholeNumber(1) }

/**
 * Stores exchanges in a folder, which is created on the first write. Processes can share a folder.
 */
export function exchangeFolder(path: string, options: ExchangeFolderOptions = {}): ExchangeStore {
  const op = 'exchangeFolder'
  const problem = someText(path)
  if (problem) throw invalidInput(op, `the path of the folder ${problem}`)
  checkOptions(options, table, { op, what: 'the option' })
  const { maxBytes = 256 * 1024 * 1024 } = options
  let opened: Promise<ExchangeStore> | undefined

  /** Loaded on demand, since it needs Node. */
  function files(): Promise<ExchangeStore> {
    opened ??= import('./exchange-files.ts').then(({ exchangeFiles }) => exchangeFiles(path, maxBytes))
    return opened
  }

  return {
    put: async (...exchange) => (await files()).put(...exchange),
    rounds: async (...which) => (await files()).rounds(...which),
    read: async (...which) => (await files()).read(...which),
    delete: async (threadId) => (await files()).delete(threadId),
  }
}
