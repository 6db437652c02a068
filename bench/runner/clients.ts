import type { Client } from '../contract.ts'
import { loadClient } from '../process/load-client.ts'
import { importModule } from './import-module.ts'

/** What the runner has to know of a client. */
export interface Known {
  readonly name: string
  readonly label: string
  readonly packages: readonly string[]
  readonly wires: Client['wires']
  /** The module whose import is measured. */
  readonly module: string | undefined
  readonly only: readonly string[] | undefined
  readonly without: Readonly<Record<string, string>>
  /** Why it could not be loaded. */
  readonly problem: string | undefined
}

export const referenceName = 'floor-reference'
export const ourName = 'millrace'

/** What all others are read against. */
export const isMeasure = (name: string) => name === ourName || name === referenceName

/** These must work, or the run has failed: without them there is nothing to compare. */
export const isNeeded = (name: string) => name === ourName || name.startsWith('floor-')

export async function knownClient(name: string): Promise<Known> {
  try {
    const client = await loadClient(name)
    const { label, packages, wires, only, without = {} } = client
    return {
      name,
      label,
      packages,
      wires,
      only,
      without,
      module: await importModule(name, client),
      problem: undefined,
    }
  } catch (error) {
    const problem = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)
    return {
      name,
      label: name,
      packages: [],
      wires: ['chat'],
      only: undefined,
      without: {},
      module: undefined,
      problem,
    }
  }
}
