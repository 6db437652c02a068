import type { ThreadEvent } from 'millrace'
import { createView, take } from 'millrace/view'
import { expect, test } from 'vitest'
import { until } from '../../../millrace/src/protocols/protocols.test-kit.ts'
import type { Progress } from './progress.ts'
import { progressOf } from './progress.ts'

const forLong = 1_000_000

/** Tells it what each event changes. */
function teller({ tell }: Progress): (event: ThreadEvent) => void {
  const view = createView()
  return (event) => tell(take(view, { seq: view.head + 1, at: 0, event }))
}

test('words are joined, and stand before what happens after them', () => {
  const told: string[] = []
  const progress = progressOf({
    send: (_, message) => told.push(message),
    joinMs: forLong,
    heartbeatMs: forLong,
  })
  const tell = teller(progress)
  for (const text of ['Let ', 'me ', 'look.']) tell({ type: 'text', text })
  expect(told).toEqual([])
  tell({ type: 'tool-start', callId: 'c1', name: 'look_up', attempt: 1 })
  tell({ type: 'text', text: 'It is ' })
  tell({ type: 'text', text: 'shipped.' })
  progress.end()
  expect(told).toEqual(['Let me look.', 'look_up runs', 'It is shipped.'])
})

test('words do not wait for ever', async () => {
  const told: string[] = []
  const progress = progressOf({ send: (_, message) => told.push(message), joinMs: 1, heartbeatMs: forLong })
  const tell = teller(progress)
  tell({ type: 'text', text: 'Well.' })
  await until(() => told.length === 1)
  expect(told).toEqual(['Well.'])
  progress.end()
})

test('words that were taken back in time are not told', () => {
  const told: string[] = []
  const progress = progressOf({
    send: (_, message) => told.push(message),
    joinMs: forLong,
    heartbeatMs: forLong,
  })
  const tell = teller(progress)
  tell({ type: 'text', text: 'It is l' })
  tell({ type: 'round-retract', round: 1, reason: 'it broke off' })
  progress.end()
  expect(told).toEqual(['the answer begins again'])
})

test('silence is broken by signs of life, which count too, until it ends', async () => {
  const told: [number, string][] = []
  const progress = progressOf({ send: (...one) => told.push(one), heartbeatMs: 1 })
  await until(() => told.length >= 2)
  progress.end()
  expect(told.slice(0, 2)).toEqual([
    [1, 'still at work'],
    [2, 'still at work'],
  ])
  const { length } = told
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(told).toHaveLength(length)
})
