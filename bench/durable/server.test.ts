import { describe, expect, it } from 'vitest'
import { markdown } from '../harness/report.ts'
import { type ServerResults, serverPart } from './part.ts'
import { word, wordCheck, wordLength } from './words.ts'

describe('the check of what a follower received', () => {
  const words = (...numbers: number[]) => numbers.map((number) => word(number, 5)).join('","text":"')
  const faultsOf = (bytes: string) => {
    const check = wordCheck(() => {})
    check.take(bytes)
    return check.faults
  }

  it('finds each word once in any split of the bytes', () => {
    const bytes = `id: 1\ndata: ${words(0, 1, 2)}\n\n`
    for (let length = 1; length <= wordLength * 2; length++) {
      const delays: number[] = []
      const check = wordCheck((ms) => delays.push(ms))
      for (let at = 0; at < bytes.length; at += length) check.take(bytes.slice(at, at + length))
      expect([check.count, check.faults, delays.length]).toEqual([3, [], 3])
    }
  })

  it.each([
    ['is lost', words(0, 2), 'word 2 came instead of 1'],
    ['is repeated', words(0, 0, 1), 'word 0 came instead of 1'],
    ['comes too early', words(1, 0), 'word 1 came instead of 0'],
  ])('reports a word that %s', (_, bytes, fault) => {
    expect(faultsOf(bytes)).toContain(fault)
  })
})

describe('the report of the server benchmark', () => {
  const results: ServerResults = {
    date: '2026-01-02',
    mode: 'full',
    node: 'v24.0.0',
    machine: 'two cores',
    ways: [
      { name: 'hub', title: 'floor: a hub', ours: false },
      { name: 'millrace', title: 'Millrace', ours: true },
    ],
    measured: [
      {
        scenario: 'steady',
        sets: [
          { hub: { cpu: 50 }, millrace: { cpu: 60 } },
          { hub: { cpu: 100 }, millrace: { cpu: 130 } },
        ],
        faults: ['hub: 1 faults: r1: word 2 came instead of 1'],
      },
    ],
    leftOut: ['AI SDK: left out, redis-server is not installed'],
  }

  it('compares each server with the hub of the same set, and names what was left out', () => {
    const text = markdown(serverPart, results)
    expect(text).toContain('**95.0 µs (60.0–130) 1.25×**')
    expect(text).toContain('- AI SDK: left out, redis-server is not installed')
    expect(serverPart.faults(results)).toEqual(['steady: hub: 1 faults: r1: word 2 came instead of 1'])
  })

  it('keeps saved scenarios that were not measured again', () => {
    const [steady] = results.measured
    if (!steady) throw new Error('no measurement')
    const capacity = { ...steady, scenario: 'capacity' }
    const merged = serverPart.merge?.({ ...results, measured: [steady, capacity] }, results)
    expect(merged?.measured.map(({ scenario }) => scenario)).toEqual(['steady', 'capacity'])
  })
})
