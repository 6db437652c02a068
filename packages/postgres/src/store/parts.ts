import type { Changes } from './changes.ts'
import type { Database } from './database.ts'
import type { Sql } from './sql.ts'
import type { ReadUsage } from './usage.ts'

/** What the parts of a store share. */
export interface StoreParts {
  readonly database: Database
  readonly sql: Sql
  /** Null for the clock of the server. */
  readonly now: () => number | null
  readonly changes: Changes
  readonly readUsage: ReadUsage
  /** Removes the rows of deleted threads in the background. */
  readonly sweep: () => void
}
