import { expect, onTestFinished } from 'vitest'
import type { Answer, Driver, Seen } from './protocol-client.ts'
import { testServer } from './test-server.test-kit.ts'

/** A server in its own process, and a client that is connected to it. */
export async function connect({ connect }: Driver) {
  const server = await testServer()
  const protocol = await connect(server)
  onTestFinished(() => protocol.close())
  return { server, protocol }
}

/** Waits until an answer looks as expected, or has ended. */
export async function until(answer: Answer, isReached: (seen: Seen) => unknown): Promise<Seen> {
  await expect.poll(() => answer.seen().end !== undefined || Boolean(isReached(answer.seen()))).toBe(true)
  return answer.seen()
}

export const ended = (answer: Answer) => until(answer, () => false)
