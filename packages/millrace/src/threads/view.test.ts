import { expect, onTestFinished, test, vi } from 'vitest'
import { pause } from '../log/index.ts'
import type { Entry } from '../protocol/index.ts'
import { textOf } from '../protocol/index.ts'
import { memoryStore } from './index.ts'
import { readView } from './view.ts'

test('reading a short view of an old thread does not wait for longer work of others', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const past = 5000
  const entries: Entry[] = [
    { type: 'run-start', version: 1, agent: 'desk', input: [], runId: 'run_1' } as const,
    { type: 'round-start', round: 1, model: 'm' } as const,
    { type: 'text', text: 'Hello.' } as const,
  ].map((event, index) => ({ seq: past + index + 1, at: 1000, event }))
  const store = {
    ...memoryStore(),
    async read(_: string, { after }: { readonly after: number }) {
      vi.advanceTimersByTime(5)
      return entries.filter(({ seq }) => seq > after)
    },
  }
  let shown: string | undefined
  const reading = readView({ store, threadId: 't' }, { bytes: 1000, before: 1000 }).then(({ messages }) => {
    shown = messages.map(textOf).join()
  })
  // Other work, with three steps each.
  for (let count = 0; count < 20; count++) {
    await pause(3)
    vi.advanceTimersByTime(5)
  }
  expect(shown).toBe('Hello.')
  await reading
})
