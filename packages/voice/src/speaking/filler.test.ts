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

test('a line is spoken once, when a tool has kept the caller waiting in silence', async () => {
  const { clock, said, waiting } = started({ text: 'One moment.', afterMs: 1000 })
  waiting.calls(1, 'look')
  await clock.advance(900)
  expect(said).toEqual([])
  waiting.calls(2, 'look')
  await clock.advance(60_000)
  expect(said).toEqual(['One moment.'])
  waiting.calls(0, 'look')
  waiting.calls(1, 'look')
  await clock.advance(60_000)
  expect(said).toEqual(['One moment.', 'One moment.'])
})

test('nothing is said while something else is being spoken', async () => {
  const { clock, said, floor, waiting } = started({ text: 'One moment.', afterMs: 1000 })
  floor.isQuiet = false
  waiting.calls(1, 'look')
  await clock.advance(5000)
  floor.isQuiet = true
  await clock.advance(900)
  expect(said).toEqual([])
  await clock.advance(400)
  expect(said).toEqual(['One moment.'])
})

test('nothing is said for tools that are done in time, or that need no word', async () => {
  const { clock, said, waiting } = started({
    text: (tool) => (tool === 'look' ? 'I am looking it up.' : undefined),
  })
  waiting.calls(1, 'look')
  await clock.advance(1000)
  waiting.calls(0, 'look')
  await clock.advance(60_000)
  waiting.calls(1, 'note')
  await clock.advance(60_000)
  waiting.calls(0, 'note')
  expect(said).toEqual([])
  waiting.calls(1, 'look')
  await clock.advance(60_000)
  expect(said).toEqual(['I am looking it up.'])
})

test('without a line nothing ever waits', async () => {
  const { clock, said, waiting } = started(undefined)
  waiting.calls(1, 'look')
  await clock.advance(60_000)
  expect(said).toEqual([])
})

test('a line that cannot be made is reported, and the next wait has another chance', async () => {
  let asked = 0
  const { clock, said, errors, waiting } = started({
    text() {
      if (asked++ === 0) throw new Error('no line today')
      return 'One moment.'
    },
  })
  waiting.calls(1, 'look')
  await clock.advance(60_000)
  expect(errors).toMatchObject([{ message: 'no line today' }])
  expect(said).toEqual([])
  waiting.calls(0, 'look')
  waiting.calls(1, 'look')
  await clock.advance(60_000)
  expect(said).toEqual(['One moment.'])
})
