import { afterAll, beforeAll, describe } from 'vitest'
import type { PostgresServer } from '../../../test/postgres-server.ts'
import { postgresServer } from '../../../test/postgres-server.ts'
import { testBudgets } from '../../millrace/src/threads/budget-properties.test-kit.ts'
import { postgresStore } from './index.ts'

describe('over PostgreSQL', () => {
  let server: PostgresServer
  let url = ''
  let schemas = 0
  beforeAll(async () => {
    server = await postgresServer({ fsync: 'off' })
    url = await server.database('budgets')
  })
  afterAll(() => server.close())
  testBudgets({ runs: 20, open: () => postgresStore(url, { schema: `budgets_${++schemas}` }) })
})
