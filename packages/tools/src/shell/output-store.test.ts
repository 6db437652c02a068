import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Channel, outputStore } from './output-store.ts'

const bytes = (text: string) => Buffer.from(text)

describe('the kept output', () => {
  test('is complete if it fits, whatever its chunks', () => {
    const pieces = fc.array(fc.tuple(fc.constantFrom<Channel>(1, 2), fc.string({ unit: 'grapheme' })))
    fc.assert(
      fc.property(pieces, fc.integer({ min: 1, max: 7 }), (pieces, size) => {
        const store = outputStore(1_000_000)
        const text: Record<Channel, string> = { 1: '', 2: '' }
        for (const [channel, piece] of pieces) {
          text[channel] += piece
          const all = bytes(piece)
          for (let at = 0; at < all.length; at += size) store.push(channel, all.subarray(at, at + size))
        }
        expect(store.read(1)).toEqual({ head: text[1], tail: '', dropped: 0 })
        expect(store.read(2)).toEqual({ head: text[2], tail: '', dropped: 0 })
        expect(store.read().head).toBe(pieces.map(([, piece]) => piece).join(''))
      }),
    )
  })

  test('joins a split character, even with output of the other channel in between', () => {
    const store = outputStore(100)
    store.push(1, Buffer.from([0xc3]))
    store.push(2, bytes('error\n'))
    store.push(1, Buffer.from([0xa9]))
    expect(store.read().head).toBe('error\né')
    expect(store.read(1).head).toBe('é')
  })

  test('shows invalid text as replacement characters', () => {
    const store = outputStore(100)
    store.push(1, Buffer.from([0x61, 0xff, 0x62, 0xc3]))
    expect(store.read().head).toBe('a\uFFFDb\uFFFD')
  })

  test('keeps the beginning and the end of long output, and how much is missing', () => {
    const store = outputStore(200_000)
    store.push(1, bytes('first|'))
    for (let count = 0; count < 100; count++) store.push(1, bytes('é'.repeat(5_001)))
    store.push(2, bytes('|last'))
    const { head, tail, dropped } = store.read()
    expect(head.startsWith('first|é')).toBe(true)
    expect(tail.endsWith('é|last')).toBe(true)
    expect(tail.slice(0, -5)).toMatch(/^é+$/)
    const kept = Buffer.byteLength(head.replace('\uFFFD', '')) + Buffer.byteLength(tail)
    expect(dropped).toBeGreaterThan(700_000)
    expect(Math.abs(store.bytes - dropped - kept)).toBeLessThan(5)
    expect(kept).toBeLessThan(220_000)
  })

  test('is returned once by take, without splitting characters', () => {
    const store = outputStore(100)
    store.push(1, Buffer.from([0x61, 0xc3]))
    expect(store.take().head).toBe('a')
    expect(store.waiting).toBe(false)
    store.push(1, Buffer.from([0xa9, 0x62]))
    expect(store.waiting).toBe(true)
    expect(store.take()).toEqual({ head: 'éb', tail: '', dropped: 0 })
    expect(store.take()).toEqual({ head: '', tail: '', dropped: 0 })
  })

  test('starts over after take, even if it was too long', () => {
    const store = outputStore(10)
    for (let count = 0; count < 10; count++) store.push(1, Buffer.alloc(16_384, 'x'))
    expect(store.take().dropped).toBeGreaterThan(100_000)
    store.push(1, bytes('fresh'))
    expect(store.take()).toEqual({ head: 'fresh', tail: '', dropped: 0 })
  })
})
