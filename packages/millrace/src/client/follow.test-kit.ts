import { expect } from 'vitest'
import type { Entry } from '../protocol/index.ts'
import { MillraceError } from '../protocol/index.ts'
import type { ClientOptions } from './index.ts'
import { textIn } from './log-server.test-kit.ts'

/** Comes back at once: nothing here is about how long that takes. */
export const eager: ClientOptions = { retry: { attempts: 50, baseMs: 1, maxDelayMs: 2 } }

/** Everything up to a number; then it lets go. */
export async function take(entries: AsyncIterable<Entry>, upTo: number): Promise<Entry[]> {
  const taken: Entry[] = []
  for await (const entry of entries) {
    taken.push(entry)
    if (entry.seq >= upTo) break
  }
  return taken
}

/** Each number once and in order, and the text as it was. */
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

/** The error of ours with which something fails. */
export async function failureOf(work: Promise<unknown>): Promise<MillraceError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof MillraceError))
    throw new Error('it did not fail with an error of ours', { cause: error })
  return error
}

/** Polls until something holds. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 2))
}
