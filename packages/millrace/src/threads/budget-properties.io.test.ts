import { join } from 'node:path'
import { describe } from 'vitest'
import { temporaryFolder } from '../log/sqlite/sqlite.test-kit.ts'
import { sqliteStore } from '../log/sqlite.ts'
import { testBudgets } from './budget-properties.test-kit.ts'
import { memoryStore } from './index.ts'

const folder = temporaryFolder()
let files = 0

describe('over memory', () => testBudgets({ runs: 60, open: () => memoryStore() }))
describe('over SQLite', () =>
  testBudgets({ runs: 30, open: () => sqliteStore(join(folder, `${++files}.db`)) }))
