import { expect, it } from 'vitest'
import type { ServerResults } from './durable/part.ts'
import { goalsTable } from './goals.ts'
import type { Results, Row } from './workloads/results.ts'

const saved = { date: '2026-01-02', mode: 'full', node: 'v24.0.0', machine: 'two cores' } as const

it('says of each goal whether the saved results meet it', () => {
  const row = (wire: Row['wire'], cpu: number): Row => ({
    work: 'text',
    case: 'small',
    client: 'millrace',
    wire,
    state: 'done',
    figures: {},
    ratios: { cpu },
  })
  const clients: Results = {
    ...saved,
    seed: 1,
    packages: {},
    clients: {},
    rows: [row('messages', 0.9), row('chat', 0.8), row('responses', 1)],
    unmeasured: [],
  }
  const server: ServerResults = {
    ...saved,
    ways: [],
    leftOut: [],
    measured: [
      { scenario: 'steady', faults: [], sets: [{ hub: { cpu: 50 }, millrace: { cpu: 75 } }] },
      { scenario: 'capacity', faults: [], sets: [{ 'hub-worker': { runs: 800 }, millrace: { runs: 720 } }] },
    ],
  }
  const rows = goalsTable({ clients, server }).rows.map(({ cells: [what = '', , ...found] }) => [what, found])
  expect(rows).toEqual(
    expect.arrayContaining([
      ['`text`: CPU, fresh or warm, the worse', ['0.80 / 1.00 / 0.90×', 'met']],
      ['durable server: CPU per delta', ['1.50×', '**missed**']],
      ['durable server: runs at once', ['0.90×', 'met']],
      ['1,000 followers at rest: share of a core', ['–', 'not measured']],
    ]),
  )
})
