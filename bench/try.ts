import { loadClient } from './process/load-client.ts'
import { runJobs } from './runner/client-process.ts'
import { importModule } from './runner/import-module.ts'
import { startServer } from './runner/server-process.ts'
import { workOf, works } from './works/index.ts'
import type { Job, Mode } from './works/work.ts'

// One client at one work: node bench/try.ts <client> <work> <wire> [tiny|quick|full]
const [client, name, wire, mode = 'tiny'] = process.argv.slice(2)
const work = workOf(name ?? '')
const isWire = (value = ''): value is Job['wire'] => ['chat', 'responses', 'messages'].includes(value)
const isMode = (value: string): value is Mode => ['tiny', 'quick', 'full'].includes(value)
if (!client || !work || !isWire(wire) || !isMode(mode)) {
  process.stderr.write(
    `node bench/try.ts <client> <work> <wire> [tiny|quick|full]\nworks: ${works.map((one) => one.name).join(', ')}\nwires: chat, responses, messages\n`,
  )
  process.exit(2)
}

const server = await startServer()
const module = work.needs === 'imports' ? await importModule(client, await loadClient(client)) : undefined
const imported = module ? { module, bundle: true } : {}
const jobs = work
  .cases(mode)
  .map((one): Job => ({ work: work.name, client, wire, url: server.url, case: one, ...imported }))
for (const job of jobs)
  await runJobs([job], ({ case: { name: size } }, outcome) => {
    process.stdout.write(`${client} ${work.name} ${size} ${wire} ${JSON.stringify(outcome)}\n`)
    if (outcome.type !== 'done') process.exitCode = 1
  })
await server.stop()
