import type { OptionTable } from '../protocol/index.ts'
import { aFunction, yesOrNo } from '../protocol/index.ts'
import { checkKitOptions } from './kit-options.ts'
import type { Cases, OpenStore } from './store-suite/context.ts'
import { withContext } from './store-suite/context.ts'
import { copyCases } from './store-suite/copies.ts'
import { factCases } from './store-suite/facts.ts'
import { forkCases } from './store-suite/forks.ts'
import { holdCases } from './store-suite/holds.ts'
import { labelCases } from './store-suite/labels.ts'
import { leaseCases } from './store-suite/leases.ts'
import { listCases } from './store-suite/lists.ts'
import { logCases } from './store-suite/logs.ts'
import { metadataCases } from './store-suite/metadata.ts'
import { packingCases } from './store-suite/packing.ts'
import { quotaCases } from './store-suite/quotas.ts'
import { reserveCases } from './store-suite/reserve.ts'
import { retentionCases } from './store-suite/retention.ts'
import { snapshotCases } from './store-suite/snapshots.ts'
import { spendingCases } from './store-suite/spending.ts'
import { threadCases } from './store-suite/threads.ts'
import { watchCases } from './store-suite/watching.ts'

export interface StoreSuiteOptions {
  readonly open: OpenStore
  /**
   * False if a storage can be opened only once at a time; then one store plays the role of several
   * processes. Default: true, so that a second `open` with the same name returns a separate store
   * on the same threads.
   */
  readonly severalHandles?: boolean | undefined
}

/** Something that must be true for every store. `run` rejects if it is not. */
export interface StoreCase {
  readonly name: string
  readonly run: () => Promise<void>
}

const optionTable: OptionTable<StoreSuiteOptions> = { open: aFunction, severalHandles: yesOrNo }

/**
 * Tests that every store must pass, for the test runner of your choice: `for (const { name, run }
 * of storeSuite({ open })) test(name, run)`. Each case uses a new storage, closes what it has
 * opened, and takes a few seconds at most.
 */
export function storeSuite(options: StoreSuiteOptions): readonly StoreCase[] {
  checkKitOptions(options, optionTable, 'storeSuite')
  const { open, severalHandles = true } = options
  const cases: Cases = {
    ...threadCases,
    ...forkCases,
    ...labelCases,
    ...listCases,
    ...factCases,
    ...metadataCases,
    ...logCases,
    ...packingCases,
    ...leaseCases,
    ...snapshotCases,
    ...watchCases,
    ...quotaCases,
    ...copyCases,
    ...retentionCases,
    ...reserveCases,
    ...spendingCases,
    ...holdCases,
  }
  return [false, true].flatMap((repeats) =>
    Object.entries(cases).map(([name, play]) => ({
      name: repeats ? `${name} (every write repeated)` : name,
      run: () => withContext({ open, severalHandles, repeats }, play),
    })),
  )
}
