import { expect } from 'vitest'
import type { Entry } from '../protocol/index.ts'
import { MillraceError } from '../protocol/index.ts'
import type { ClientOptions } from './index.ts'
import { textIn } from './log-server.test-kit.ts'

/** Reconnects almost at once: these tests are not about delays. */
export const fastRetry: ClientOptions = { retry: { attempts: 50, baseMs: 1, maxDelayMs: 2 } }

/** Takes all entries up to a number, then stops following. */
export async function take(entries: AsyncIterable<Entry>, upTo: number): Promise<Entry[]> {
  const taken: Entry[] = []
  for await (const entry of entries) {
    taken.push(entry)
    if (entry.seq >= upTo) break
  }
  return taken
}

/** Expects each number once and in order, with the same text. */
export function expectWhole(taken: readonly Entry[], log: readonly Entry[], after = 0) {
  let last = after
  for (const { seq, from = seq } of taken) {
    expect(from).toBe(last + 1)
    last = seq
  }
  expect(last).toBe(log.at(-1)?.seq ?? after)
  expect(taken.map(textIn).join('')).toBe(
    log
      .filter(({ seq }) => seq > after)
      .map(textIn)
      .join(''),
  )
}

/** The `MillraceError` that `work` rejects with. */
export async function errorOf(work: Promise<unknown>): Promise<MillraceError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof MillraceError)) throw new Error('expected a MillraceError', { cause: error })
  return error
}

/** Polls until the condition holds. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2))
}
