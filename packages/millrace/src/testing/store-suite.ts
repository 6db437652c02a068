import type { OptionTable } from '../protocol/index.ts'
import { aFunction, yesOrNo } from '../protocol/index.ts'
import { checkKitOptions } from './kit-options.ts'
import { compactionCases } from './store-suite/compaction.ts'
import { forkCases } from './store-suite/forks.ts'
import { labelCases } from './store-suite/labels.ts'
import { leaseCases } from './store-suite/leases.ts'
import { listCases } from './store-suite/lists.ts'
import { logCases } from './store-suite/logs.ts'
import { quotaCases } from './store-suite/quotas.ts'
import type { Cases, OpenStore } from './store-suite/scene.ts'
import { withScene } from './store-suite/scene.ts'
import { snapshotCases } from './store-suite/snapshots.ts'
import { threadCases } from './store-suite/threads.ts'
import { watchCases } from './store-suite/watching.ts'

export interface StoreSuiteOptions {
  readonly open: OpenStore
  /**
   * False if a storage can be opened only once at a time: then one store plays the parts of several processes. True if absent: a second
   * `open` of the same name gives a store of its own on the same threads.
   */
  readonly severalHandles?: boolean | undefined
}

/** Something that must hold for every store. `run` rejects if it does not. */
export interface StoreCase {
  readonly name: string
  readonly run: () => Promise<void>
}

const optionTable: OptionTable<StoreSuiteOptions> = { open: aFunction, severalHandles: yesOrNo }

/**
 * What every store must do, for the test runner of your choice: `for (const { name, run } of storeSuite({ open })) test(name, run)`.
 * Each case has a storage of its own, closes what it has opened, and takes no more than a few seconds.
 */
export function storeSuite(options: StoreSuiteOptions): readonly StoreCase[] {
  checkKitOptions(options, optionTable, 'storeSuite')
  const { open, severalHandles = true } = options
  const cases: Cases = {
    ...threadCases,
    ...forkCases,
    ...labelCases,
    ...listCases,
    ...logCases,
    ...compactionCases,
    ...leaseCases,
    ...snapshotCases,
    ...watchCases,
    ...quotaCases,
  }
  return Object.entries(cases).map(([name, play]) => ({
    name,
    run: () => withScene({ open, severalHandles }, play),
  }))
}
