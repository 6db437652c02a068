import { fakeClock } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { playhead } from './playhead.ts'

const sampleRate = 1000

function started() {
  const clock = fakeClock()
  return { clock, head: playhead({ sampleRate, clock }) }
}

describe('a client that never says where it is', () => {
  test('is taken to play what it gets, as it gets it', async () => {
    const { clock, head } = started()
    await clock.advance(50)
    head.sent(0, 300)
    await clock.advance(100)
    expect([head.position, head.ahead, head.drySince]).toEqual([100, 200, undefined])
    await clock.advance(500)
    expect([head.position, head.ahead, head.drySince]).toEqual([300, 0, 350])
  })

  test('goes on when more comes, from then on', async () => {
    const { clock, head } = started()
    head.sent(0, 100)
    await clock.advance(400)
    head.sent(100, 100)
    await clock.advance(30)
    expect([head.position, head.ahead]).toEqual([130, 70])
  })

  test('forgets several stretches at once', () => {
    const { head } = started()
    head.sent(0, 100)
    for (const from of [100, 300, 500]) {
      head.dropped(from)
      head.sent(from + 100, 100)
    }
    head.dropped(50)
    expect(head.ahead).toBe(50)
  })

  test('stands still in a pause', async () => {
    const { clock, head } = started()
    head.sent(0, 500)
    await clock.advance(100)
    head.pause()
    await clock.advance(1000)
    expect(head.position).toBe(100)
    head.resume()
    await clock.advance(100)
    expect(head.position).toBe(200)
  })

  test('leaps over what it was told to forget', async () => {
    const { clock, head } = started()
    head.sent(0, 500)
    await clock.advance(100)
    head.dropped(200)
    head.sent(500, 100)
    expect(head.ahead).toBe(200)
    await clock.advance(150)
    expect([head.position, head.ahead]).toEqual([550, 50])
  })

  test('keeps what it has played when that is retracted', async () => {
    const { clock, head } = started()
    head.sent(0, 500)
    await clock.advance(300)
    head.dropped(200)
    expect([head.position, head.ahead]).toEqual([300, 0])
  })
})

describe('a client that reports', () => {
  test('is believed from the first word on, whatever was thought before', async () => {
    const { clock, head } = started()
    head.sent(0, 500)
    await clock.advance(200)
    head.reported(40)
    await clock.advance(300)
    expect([head.position, head.ahead, head.beganAt, head.isGuessed]).toEqual([40, 460, 200, false])
  })

  test('has run dry when it says so', async () => {
    const { clock, head } = started()
    head.sent(0, 100)
    head.reported(10)
    await clock.advance(50)
    expect(head.drySince).toBeUndefined()
    head.reported(100)
    await clock.advance(50)
    expect(head.drySince).toBe(50)
    head.sent(100, 10)
    expect(head.drySince).toBeUndefined()
  })

  test('must have run dry, even if it does not say so in time', async () => {
    const { clock, head } = started()
    head.sent(0, 100)
    head.reported(10)
    await clock.advance(500)
    // Which is no proof that anybody has heard it.
    expect([head.drySince, head.position, head.ahead]).toEqual([90, 10, 90])
    head.reported(100)
    expect([head.drySince, head.position]).toEqual([90, 100])
    head.sent(100, 100)
    await clock.advance(60)
    expect(head.drySince).toBeUndefined()
    await clock.advance(60)
    expect(head.drySince).toBe(600)
  })

  test('cannot have played what was not sent, nor take anything back', () => {
    const { head } = started()
    head.sent(0, 100)
    head.reported(900)
    expect(head.position).toBe(100)
    head.reported(50)
    expect(head.position).toBe(100)
  })
})
