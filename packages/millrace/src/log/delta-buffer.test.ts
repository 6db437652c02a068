import { expect, test } from 'vitest'
import type { RunEvent } from '../protocol/index.ts'
import { deltaBuffer } from './delta-buffer.ts'

test.each([1, 2, 255, 256, 257, 512, 513])(
  '%d deltas are settled as one event with all of their text',
  (count) => {
    const settled: RunEvent[] = []
    const buffer = deltaBuffer((event) => settled.push(event))
    const words = Array.from({ length: count }, (_, index) => `${index} `)
    for (const text of words) buffer.push({ type: 'text', text })
    buffer.settle()
    expect(settled).toEqual([{ type: 'text', text: words.join('') }])
    expect(buffer.settled).toEqual(settled)
  },
)
