import { storeSuite } from 'millrace/testing'
import { afterAll, beforeAll, describe, it } from 'vitest'
import type { PostgresServer } from '../../../test/postgres-server.ts'
import { postgresServer } from '../../../test/postgres-server.ts'
import { postgresStore } from './index.ts'

describe('the PostgreSQL store', () => {
  let server: PostgresServer
  let url = ''
  beforeAll(async () => {
    server = await postgresServer({ fsync: 'off' })
    url = await server.database('suite')
  })
  afterAll(() => server.close())
  const cases = storeSuite({ open: ({ name, now }) => postgresStore(url, { schema: name, now }) })
  // Repeated writes take the same code in all cases, so an eighth of them is enough.
  const chosen = cases.filter(({ name }, index) => !name.endsWith('repeated)') || index % 8 === 0)
  for (const { name, run } of chosen) it(name, run)
})
