import { expect, it } from 'vitest'
import { markdown } from '../harness/report.ts'
import { type GatewayResults, gatewayPart } from './part.ts'

it('compares the CPU time of each gateway with the bare proxy of the same set', () => {
  const results: GatewayResults = {
    date: '2026-01-02',
    mode: 'full',
    node: 'v24.0.0',
    machine: 'two cores',
    leftOut: ['portkey'],
    measured: [
      {
        work: 'long',
        route: 'chat',
        sets: [
          { proxy: 2, sqlite: 10 },
          { proxy: 4, sqlite: 16 },
          { proxy: 1, sqlite: 9 },
        ],
      },
      { work: 'long', route: 'messages-from-chat', sets: [{ sqlite: 12 }] },
    ],
  }
  const text = markdown(gatewayPart, results)
  expect(text).toContain('### CPU per delta of one long answer: 20,000 text deltas')
  expect(text).toContain('|  | Chat | Chat to Messages |')
  expect(text).toContain('| floor: a bare reverse proxy | 2.00 µs (1.00–4.00) 1.00× | – |')
  // There is no proxy that translates, so nothing to compare with.
  expect(text).toContain(
    '| **Millrace, SQLite and recordings** | **10.0 µs (9.00–16.0) 5.00×** | **12.0 µs (12.0–12.0)** |',
  )
  expect(text).toContain('Portkey gateway: left out, @portkey-ai/gateway is not installed')
  expect(text).not.toContain('AI SDK')
})
