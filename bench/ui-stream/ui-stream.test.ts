import { expect, it } from 'vitest'
import { markdown } from '../harness/report.ts'
import { type UiStreamResults, uiStreamPart } from './part.ts'

it('compares the CPU time of each server with the AI SDK of the same set', () => {
  const results: UiStreamResults = {
    date: '2026-01-02',
    mode: 'full',
    node: 'v24.0.0',
    machine: 'two cores',
    measured: [
      {
        work: 'long',
        sets: [
          { 'ai-sdk': 100, response: 10 },
          { 'ai-sdk': 200, response: 16 },
          { 'ai-sdk': 50, response: 10 },
        ],
      },
    ],
  }
  const text = markdown(uiStreamPart, results)
  expect(text).toContain('### One long answer: 20,000 text deltas')
  expect(text).toContain('| AI SDK, `toUIMessageStreamResponse()` | 100 µs (50.0–200) | 100 % |')
  expect(text).toContain(
    '| **Millrace, `toUIMessageResponse()`** | **10.0 µs (10.0–16.0)** | **10.0 % (8.00–20.0)** |',
  )
})
