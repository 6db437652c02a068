import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { changedPart, sseFrames } from './sse-frames.ts'

it('every frame is returned, including comments', () => {
  expect(sseFrames('event: ping\ndata: {"a":1}\n\n: still there\n\ndata: one\ndata:two\n\n')).toEqual([
    { name: 'ping', data: '{"a":1}' },
    { name: '', data: ': still there' },
    { name: '', data: 'one\ntwo' },
  ])
})

it('a truncated frame is returned as far as it arrived', () => {
  expect(sseFrames('data: [DONE]\n\ndata: {"te')).toEqual([
    { name: '', data: '[DONE]' },
    { name: '', data: '{"te' },
  ])
  expect(sseFrames('')).toEqual([])
})

it('the data matches what another SSE parser reads', () => {
  const line = fc.oneof(
    fc.constantFrom('', '', ': hm', 'event: x', 'id: 1', 'retry: 5', 'other: y', 'database: z'),
    fc.string({ unit: 'grapheme-ascii', minLength: 1 }).map((text) => `data:${text}`),
  )
  fc.assert(
    fc.property(fc.array(line), fc.constantFrom('\n', '\r\n', '\r'), fc.boolean(), (lines, feed, bom) => {
      const text = (bom ? '\ufeff' : '') + [...lines, 'data: end', ''].map((one) => one + feed).join('')
      const expected: string[] = []
      const parser = createParser({ onEvent: ({ data }) => void expected.push(data) })
      parser.feed(text)
      const read = sseFrames(text).map(({ data }) => data)
      expect(read.filter((data) => expected.includes(data))).toEqual(expected.filter((data) => data !== ''))
    }),
  )
})

it('the changed part of a frame starts where it differs from the previous frame', () => {
  const first = '{"id":"c1","delta":{"text":"Let"}}'
  expect(changedPart(first, '')).toBe(first)
  expect(changedPart('{"id":"c1","delta":{"text":"Lo"}}', first)).toBe('…{"text":"Lo"}}')
  expect(changedPart('[DONE]', first)).toBe('[DONE]')
  expect(changedPart('[DONE]', '[DONE]')).toBe('[DONE]')
})
