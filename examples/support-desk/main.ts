import { mkdirSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { exchangeFolder, serve } from 'millrace/server'
import { sqliteStore } from 'millrace/sqlite'
import { supportDesk } from './agent.ts'
import { deskModel } from './model.ts'
import { deskVoice } from './voice.ts'

const { PORT = '0', MILLRACE_DATA } = process.env

// For a port in use or a damaged file the message is enough; a stack trace would not help.
process.on('uncaughtException', (error) => {
  console.error(`support desk: ${error.message}`)
  process.exit(1)
})
if (!/^\d+$/.test(PORT)) throw new Error(`PORT must be a number, not '${PORT}'`)

const desk = await deskModel()
const data = MILLRACE_DATA || fileURLToPath(new URL('../../data/support-desk.db', import.meta.url))
mkdirSync(dirname(data), { recursive: true })

const store = sqliteStore(data)
const voice = deskVoice()
const app = serve({
  agents: supportDesk(desk.model),
  store,
  exchanges: exchangeFolder(`${data}-exchanges`),
  voice,
})
const { url } = await app.listen({ port: Number(PORT) })

// New threads for the commands below, since earlier ones may still be waiting for approval.
const suffix = crypto.randomUUID().slice(0, 4)
const asking = await app.thread(`where-${suffix}`).create()
const returning = await app.thread(`return-${suffix}`, { agent: 'returns' }).create()

const file = relative('.', data)
const cli = `npx millrace --data ${file}`

// The server keeps running if stdout is closed (`npm start | head -1`).
process.stdout.on('error', () => {})
console.log(`Millrace support desk: open ${url}/

Ask where ORD-42 is, or ask for a refund of ORD-43, and watch it think, call tools and answer.
Press the speaker to hear it.

${desk.about}
Agents: ${app.agents.join(', ')}. Threads are stored in ${file}. Ctrl-C shuts down cleanly.

From another terminal:

  curl -N ${url}/threads/${asking.id}/messages -H 'accept: text/event-stream' -H 'content-type: application/json' -d '{"message":"Where is ORD-42?"}'

  ${cli} show ${asking.id} --pace

  ${cli} --thread ${returning.id} 'Refund ORD-43'
`)

let isEnding = false
async function end() {
  // A second Ctrl-C exits at once.
  if (isEnding) process.exit(130)
  isEnding = true
  console.log('\nWaiting for running tools; unfinished runs resume on the next start.')
  await app.close()
  await voice?.close()
  await store.close()
  await desk.close()
  process.exit(0)
}
process.on('SIGINT', end).on('SIGTERM', end)
