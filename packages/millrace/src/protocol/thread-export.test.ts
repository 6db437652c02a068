import { expect, test } from 'vitest'
import type { Entry } from './events.ts'
import { exportThread } from './thread-export.ts'
import type { ThreadView } from './thread-view.ts'
import { noUsage } from './usage.ts'

test('a thread that grows while it is exported is exported up to its head at the start', async () => {
  const entry = (seq: number): Entry => ({ seq, at: 0, event: { type: 'stop', reason: 'x' } })
  const view = { id: 't', agent: 'a', head: 5, messages: [], usage: noUsage } satisfies Partial<ThreadView>
  let pages = 0
  const exported = await exportThread({
    state: async () => view as unknown as ThreadView,
    async read({ after }) {
      pages++
      return pages > 100 ? [] : [entry(after + 1), entry(after + 2)]
    },
  })
  expect(pages).toBe(3)
  expect(exported.entries.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6])
})
