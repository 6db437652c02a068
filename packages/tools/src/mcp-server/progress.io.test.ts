import type { ThreadEvent } from 'millrace'
import { applyEntry, createView } from 'millrace/view'
import { expect, test } from 'vitest'
import { until } from '../../../millrace/src/protocols/protocols.test-kit.ts'
import type { Progress } from './progress.ts'
import { progressOf } from './progress.ts'

const forLong = 1_000_000

/** Returns a function that folds an event and reports the change. */
function emitter({ update }: Progress): (event: ThreadEvent) => void {
  const view = createView()
  return (event) => update(applyEntry(view, { seq: view.head + 1, at: 0, event }))
}

test('text is joined, and sent before later events', () => {
  const sent: string[] = []
  const progress = progressOf({
    send: (_, message) => sent.push(message),
    joinMs: forLong,
    heartbeatMs: forLong,
  })
  const emit = emitter(progress)
  for (const text of ['Let ', 'me ', 'look.']) emit({ type: 'text', text })
  expect(sent).toEqual([])
  emit({ type: 'tool-start', callId: 'c1', name: 'look_up', attempt: 1 })
  emit({ type: 'text', text: 'It is ' })
  emit({ type: 'text', text: 'shipped.' })
  progress.end()
  expect(sent).toEqual(['Let me look.', 'running look_up', 'It is shipped.'])
})

test('text is sent after a short time', async () => {
  const sent: string[] = []
  const progress = progressOf({ send: (_, message) => sent.push(message), joinMs: 1, heartbeatMs: forLong })
  const emit = emitter(progress)
  emit({ type: 'text', text: 'Well.' })
  await until(() => sent.length === 1)
  expect(sent).toEqual(['Well.'])
  progress.end()
})

test('text retracted before it was sent is dropped', () => {
  const sent: string[] = []
  const progress = progressOf({
    send: (_, message) => sent.push(message),
    joinMs: forLong,
    heartbeatMs: forLong,
  })
  const emit = emitter(progress)
  emit({ type: 'text', text: 'It is l' })
  emit({ type: 'round-retract', round: 1, reason: 'it broke off' })
  progress.end()
  expect(sent).toEqual(['the answer was retracted and starts over'])
})

test('heartbeats are sent during silence, until the end', async () => {
  const sent: [number, string][] = []
  const progress = progressOf({ send: (...one) => sent.push(one), heartbeatMs: 1 })
  await until(() => sent.length >= 2)
  progress.end()
  expect(sent.slice(0, 2)).toEqual([
    [1, 'still working'],
    [2, 'still working'],
  ])
  const { length } = sent
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(sent).toHaveLength(length)
})
