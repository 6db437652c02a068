import { fakeClock } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { playhead } from './playhead.ts'

const sampleRate = 1000

function started() {
  const clock = fakeClock()
  return { clock, head: playhead({ sampleRate, clock }) }
}

describe('a client that never reports', () => {
  test('is assumed to play audio as it arrives', async () => {
    const { clock, head } = started()
    await clock.advance(50)
    head.sent(0, 300)
    await clock.advance(100)
    expect([head.position, head.ahead, head.emptySince]).toEqual([100, 200, undefined])
    await clock.advance(500)
    expect([head.position, head.ahead, head.emptySince]).toEqual([300, 0, 350])
  })

  test('continues when more audio arrives', async () => {
    const { clock, head } = started()
    head.sent(0, 100)
    await clock.advance(400)
    head.sent(100, 100)
    await clock.advance(30)
    expect([head.position, head.ahead]).toEqual([130, 70])
  })

  test('drops several ranges at once', () => {
    const { head } = started()
    head.sent(0, 100)
    for (const from of [100, 300, 500]) {
      head.dropped(from)
      head.sent(from + 100, 100)
    }
    head.dropped(50)
    expect(head.ahead).toBe(50)
  })

  test('stops during a pause', async () => {
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

  test('skips dropped audio', async () => {
    const { clock, head } = started()
    head.sent(0, 500)
    await clock.advance(100)
    head.dropped(200)
    head.sent(500, 100)
    expect(head.ahead).toBe(200)
    await clock.advance(150)
    expect([head.position, head.ahead]).toEqual([550, 50])
  })

  test('keeps the played part of retracted audio', async () => {
    const { clock, head } = started()
    head.sent(0, 500)
    await clock.advance(300)
    head.dropped(200)
    expect([head.position, head.ahead]).toEqual([300, 0])
  })
})

describe('a client that reports', () => {
  test('overrides earlier estimates with its first report', async () => {
    const { clock, head } = started()
    head.sent(0, 500)
    await clock.advance(200)
    head.reported(40)
    await clock.advance(300)
    expect([head.position, head.ahead, head.startedAt, head.isEstimated]).toEqual([40, 460, 200, false])
  })

  test('has run out of audio when it reports so', async () => {
    const { clock, head } = started()
    head.sent(0, 100)
    head.reported(10)
    await clock.advance(50)
    expect(head.emptySince).toBeUndefined()
    head.reported(100)
    await clock.advance(50)
    expect(head.emptySince).toBe(50)
    head.sent(100, 10)
    expect(head.emptySince).toBeUndefined()
  })

  test('is known to have run out of audio before a late report', async () => {
    const { clock, head } = started()
    head.sent(0, 100)
    head.reported(10)
    await clock.advance(500)
    // That does not prove that it was played.
    expect([head.emptySince, head.position, head.ahead]).toEqual([90, 10, 90])
    head.reported(100)
    expect([head.emptySince, head.position]).toEqual([90, 100])
    head.sent(100, 100)
    await clock.advance(60)
    expect(head.emptySince).toBeUndefined()
    await clock.advance(60)
    expect(head.emptySince).toBe(600)
  })

  test('cannot report more than was sent, or move backward', () => {
    const { head } = started()
    head.sent(0, 100)
    head.reported(900)
    expect(head.position).toBe(100)
    head.reported(50)
    expect(head.position).toBe(100)
  })
})
