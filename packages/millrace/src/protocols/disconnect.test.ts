import { expect, test } from 'vitest'
import { agent } from '../agent/index.ts'
import { fakeClock, scriptedModel } from '../testing/index.ts'
import { eventsOf, startApp } from '../threads/threads.test-kit.ts'
import { answerTo } from './answers.ts'
import { disconnects } from './disconnect.ts'

const cut = { isCut: true }

/** Readers, and threads with an answer that never ends. */
function setUp(graceMs: number | undefined = 100) {
  const clock = fakeClock()
  const errors: unknown[] = []
  const app = startApp({ agents: agent({ model: scriptedModel(() => [{ hang: true }]) }) })
  return {
    clock,
    errors,
    readers: disconnects({ graceMs, onError: (error) => errors.push(error), clock }),
    endless: disconnects({ graceMs: undefined, onError: (error) => errors.push(error), clock }),
    async answering(id: string) {
      return answerTo(app.thread(id), await app.thread(id).send('Hi.'))
    },
    /** How often the thread was stopped. */
    stops: async (id: string) => eventsOf(await app.thread(id).read(), 'stop').length,
  }
}

test('an answer is stopped when its last reader has been gone for the grace', async () => {
  const { clock, readers, answering, stops } = setUp()
  const answer = await answering('t')
  const first = readers.join(answer)
  const second = readers.join(answer)
  first(cut)
  await clock.advance(1000)
  second(cut)
  second(cut)
  await clock.advance(99)
  expect(await stops('t')).toBe(0)
  await clock.advance(1)
  await expect.poll(() => stops('t')).toBe(1)
})

test('a reader that comes in time prevents it, and so does one that reads to the end', async () => {
  const { clock, readers, answering, stops } = setUp()
  const answer = await answering('t')
  readers.join(answer)(cut)
  await clock.advance(99)
  const back = readers.join(answer)
  readers.join(await answering('other'))(cut)
  await clock.advance(1000)
  back({ isCut: false })
  await clock.advance(1000)
  await expect.poll(() => stops('other')).toBe(1)
  expect(await stops('t')).toBe(0)
})

test('a stop that is due can happen now, once', async () => {
  const { clock, readers, answering, stops } = setUp()
  readers.join(await answering('t'))(cut)
  await readers.stopNow('t')
  expect(await stops('t')).toBe(1)
  await readers.stopNow('t')
  await clock.advance(1000)
  expect(await stops('t')).toBe(1)
})

test('nothing is stopped once the server closes', async () => {
  const { readers, answering, stops } = setUp()
  const open = readers.join(await answering('open'))
  readers.join(await answering('t'))(cut)
  readers.close()
  open(cut)
  await readers.stopNow('t')
  await readers.stopNow('open')
  expect([await stops('t'), await stops('open')]).toEqual([0, 0])
})

test('nothing is stopped without a grace', async () => {
  const { endless, answering, stops } = setUp()
  endless.join(await answering('t'))(cut)
  await endless.stopNow('t')
  expect(await stops('t')).toBe(0)
})

test('a stop that fails is reported', async () => {
  const { errors, readers, answering } = setUp()
  const answer = await answering('t')
  readers.join(answer)(cut)
  await answer.thread.delete()
  await readers.stopNow('t')
  expect(errors).toEqual([expect.objectContaining({ code: 'not_found' })])
})
