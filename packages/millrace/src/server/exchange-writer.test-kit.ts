import { exchangeFolder } from './index.ts'

// A separate process that stores one exchange after the other until it is killed, and prints the
// number of
// each stored round.

const store = exchangeFolder(process.argv[2] ?? '')
const wire = [{ url: 'http://host/v1', headers: {}, body: 'x'.repeat(100_000) }]
for (let round = 1; ; round++) {
  const call = { runId: 'run_1', round, attempt: 1, model: 'm', provider: 'p', at: 1, tools: [] }
  await store.put('t', { ...call, wire })
  process.stdout.write(`${round}\n`)
}
