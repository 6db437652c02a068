import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Server } from './setup.ts'

/**
 * SIGTERM, and the next server at once. A server that hangs fails the test, and is killed with it.
 */
export async function replace(server: Server) {
  const late = new AbortController()
  const code = await Promise.race([
    server.process.terminate(),
    delay(30_000, 'timed out', { signal: late.signal }).catch(() => {}),
  ])
  late.abort()
  expect(code).toBe(0)
  expect(server.process.stderr()).toBe('')
  await server.start().ready
}
