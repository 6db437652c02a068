import { fakeClock } from 'millrace/testing'
import { expect, test } from 'vitest'
import { type FillerOptions, filler } from './filler.ts'

function started(options: FillerOptions | undefined) {
  const clock = fakeClock()
  const said: string[] = []
  const errors: unknown[] = []
  const floor = { isQuiet: true }
  const waiting = filler({
    filler: options,
    clock,
    isQuiet: () => floor.isQuiet,
    say: (text) => said.push(text),
    onError: (error) => errors.push(error),
  })
  return { clock, said, errors, floor, waiting }
}

test('speaks a line once when the user waits for a tool in silence', async () => {
  const { clock, said, waiting } = started({ text: 'One moment.', afterMs: 1000 })
  waiting.callsChanged(1, 'look')
  await clock.advance(900)
  expect(said).toEqual([])
  waiting.callsChanged(2, 'look')
  await clock.advance(60_000)
  expect(said).toEqual(['One moment.'])
  waiting.callsChanged(0, 'look')
  waiting.callsChanged(1, 'look')
  await clock.advance(60_000)
  expect(said).toEqual(['One moment.', 'One moment.'])
})

test('stays silent while the agent is speaking', async () => {
  const { clock, said, floor, waiting } = started({ text: 'One moment.', afterMs: 1000 })
  floor.isQuiet = false
  waiting.callsChanged(1, 'look')
  await clock.advance(5000)
  floor.isQuiet = true
  await clock.advance(900)
  expect(said).toEqual([])
  await clock.advance(400)
  expect(said).toEqual(['One moment.'])
})

test('stays silent for fast tools, and for tools without a line', async () => {
  const { clock, said, waiting } = started({
    text: (tool) => (tool === 'look' ? 'I am looking it up.' : undefined),
  })
  waiting.callsChanged(1, 'look')
  await clock.advance(1000)
  waiting.callsChanged(0, 'look')
  await clock.advance(60_000)
  waiting.callsChanged(1, 'note')
  await clock.advance(60_000)
  waiting.callsChanged(0, 'note')
  expect(said).toEqual([])
  waiting.callsChanged(1, 'look')
  await clock.advance(60_000)
  expect(said).toEqual(['I am looking it up.'])
})

test('does nothing without a line', async () => {
  const { clock, said, waiting } = started(undefined)
  waiting.callsChanged(1, 'look')
  await clock.advance(60_000)
  expect(said).toEqual([])
})

test('reports an exception from the callback, and tries again at the next wait', async () => {
  let asked = 0
  const { clock, said, errors, waiting } = started({
    text() {
      if (asked++ === 0) throw new Error('no line today')
      return 'One moment.'
    },
  })
  waiting.callsChanged(1, 'look')
  await clock.advance(60_000)
  expect(errors).toMatchObject([{ message: 'no line today' }])
  expect(said).toEqual([])
  waiting.callsChanged(0, 'look')
  waiting.callsChanged(1, 'look')
  await clock.advance(60_000)
  expect(said).toEqual(['One moment.'])
})
