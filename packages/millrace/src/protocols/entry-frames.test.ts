import { describe, expect, test } from 'vitest'
import type { Entry, ThreadEvent } from '../protocol/index.ts'
import { eventFrames } from './millrace-sse.ts'
import { frameType, socketFrames } from './socket-frames.ts'

const entry = (seq: number, text = 'hi'): Entry => ({ seq, at: 1, event: { type: 'text', text } })
const sseFrame = eventFrames().entry as (entry: Entry) => Uint8Array
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

describe('an entry as a server-sent event', () => {
  test('has one id line and one data line, for any content', () => {
    const text = 'one\r\ntwo\nthree\u2028four\ud83d\ude00 ü'
    const frame = textOf(sseFrame(entry(7, text)))
    const lines = frame.split('\n')
    expect(lines).toHaveLength(4)
    expect(lines[0]).toBe('id: 7')
    expect(JSON.parse(lines[1]?.slice('data: '.length) ?? '')).toEqual(entry(7, text))
    expect(frame).not.toContain('\r')
    expect(frame.endsWith('\n\n')).toBe(true)
  })

  test('keeps a lone surrogate', () => {
    const frame = textOf(sseFrame(entry(1, '\ud83d')))
    expect(JSON.parse(frame.split('\n')[1]?.slice(6) ?? '').event.text).toBe('\ud83d')
  })

  test('is encoded once for all clients, and not cached forever', () => {
    const one = entry(1)
    const first = sseFrame(one)
    expect(sseFrame(one)).toBe(first)
    for (let seq = 2; seq < 10_000; seq++) sseFrame(entry(seq))
    expect(sseFrame(one)).not.toBe(first)
    expect(sseFrame(one)).toEqual(first)
  })

  test('is encoded once with those that are delivered with it', () => {
    const sseFrames = eventFrames().entries as (entries: readonly Entry[]) => Uint8Array
    for (const entries of [[entry(1)], [entry(2), entry(3, 'ü')]]) {
      const bytes = sseFrames(entries)
      expect(sseFrames(entries)).toBe(bytes)
      expect(textOf(bytes)).toBe(entries.map((one) => textOf(sseFrame(one))).join(''))
    }
  })
})

describe('an entry as a WebSocket frame', () => {
  /** RFC 6455, 5.2. */
  function unframe(bytes: Uint8Array): string {
    expect(bytes[0]).toBe(0x81)
    const short = bytes[1] as number
    const view = new DataView(bytes.buffer, bytes.byteOffset)
    const [head, length] =
      short < 126 ? [2, short] : short === 126 ? [4, view.getUint16(2)] : [10, Number(view.getBigUint64(2))]
    expect(bytes.length).toBe(head + length)
    return textOf(bytes.subarray(head))
  }

  test.each([0, 1, 40, 60, 100, 125, 126, 1000, 65_400, 65_535, 65_536, 200_000])(
    'of about %d bytes is complete',
    (size) => {
      for (let extra = 0; extra < 150; extra += size > 60_000 ? 7 : 1) {
        const one = { ...entry(9, 'x'.repeat(size + extra)), from: 3 }
        expect(JSON.parse(unframe(socketFrames.entry(one)))).toEqual({ type: 'stream_chunk', ...one })
      }
    },
  )

  test('has its length in bytes, not in characters', () => {
    const one = entry(1, 'ü€😀'.repeat(50))
    expect(JSON.parse(unframe(socketFrames.entry(one)))).toEqual({ type: 'stream_chunk', ...one })
  })
})

test('every event has a frame type', () => {
  const names = (
    [
      'run-start',
      'text',
      'reasoning',
      'part-end',
      'tool-input-start',
      'tool-input',
      'tool-call',
      'tool-start',
      'tool-progress',
      'tool-result',
      'provider-tool',
      'approval-request',
      'approval',
      'input',
      'stop',
      'summary',
      'round-start',
      'round-retry',
      'round-retract',
      'round-end',
      'run-end',
    ] as const
  ).map((type) => frameType({ type } as ThreadEvent))
  expect(names).toEqual([
    'stream_start',
    'stream_chunk',
    'stream_chunk',
    'part_end',
    'tool_input_start',
    'tool_input',
    'tool_call',
    'tool_start',
    'tool_progress',
    'tool_result',
    'tool_provider',
    'tool_approval_request',
    'tool_approval',
    'input',
    'stop',
    'summary',
    'round_start',
    'round_retry',
    'round_retract',
    'round_end',
    'stream_end',
  ])
  const end = { type: 'run-end', outcome: 'failed' } as ThreadEvent
  expect(frameType(end)).toBe('stream_error')
})
