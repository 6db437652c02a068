import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { postgresServer } from '../../../../test/postgres-server.ts'
import { bullmq } from '../bullmq.ts'

test('a connection that is lost while the tables are created fails the call, not the process', async () => {
  const server = await postgresServer()
  onTestFinished(() => server.close())
  const address = await server.database('app')
  const pool = new pg.Pool({ connectionString: address })
  onTestFinished(() => pool.end())
  const other = await pool.connect()
  const dispatcher = bullmq({ postgres: address })
  onTestFinished(() => dispatcher.close())
  const thread = { id: 't', agent: 'desk', head: 1, priority: 'interactive' } as const

  // Another process creates them too, and the dispatcher waits for it.
  await other.query('BEGIN')
  await other.query('CREATE SCHEMA millrace_queue')
  const woken = dispatcher.wake(thread)
  const rejected = expect(woken).rejects.toThrow('the queue in PostgreSQL does not work')
  const end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
  await expect.poll(async () => (await pool.query(end)).rowCount).toBe(1)
  await rejected
  await other.query('ROLLBACK')
  other.release()
  await dispatcher.wake(thread)
})
