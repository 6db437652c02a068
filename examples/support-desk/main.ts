import { mkdirSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { exchangeFolder, serve } from 'millrace/server'
import { sqliteStore } from 'millrace/sqlite'
import { supportDesk } from './agent.ts'
import { deskModel } from './model.ts'
import { deskVoice } from './voice.ts'

const { PORT = '0', MILLRACE_DATA } = process.env

// A busy port, a damaged file: what is wrong is in the message, and a stack of calls helps nobody.
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

// Those that the commands below talk in: new ones, since yesterday's may still wait for somebody.
const own = crypto.randomUUID().slice(0, 4)
const asking = await app.thread(`where-${own}`).create()
const returning = await app.thread(`return-${own}`, { agent: 'returns' }).create()

const file = relative('.', data)
const cli = `npx millrace --data ${file}`

// Whoever read this may have gone (`npm start | head -1`): the server stays.
process.stdout.on('error', () => {})
console.log(`Millrace support desk: open ${url}/

Ask it where ORD-42 is, or for a refund of ORD-43, and watch it think, act and answer.
Press the speaker to hear it.

${desk.about}
Agents: ${app.agents.join(', ')}. Threads are kept in ${file}. Ctrl-C ends it well.

The same from another terminal:

  curl -N ${url}/threads/${asking.id}/messages -H 'accept: text/event-stream' -H 'content-type: application/json' -d '{"message":"Where is ORD-42?"}'

  ${cli} show ${asking.id} --pace

  ${cli} --thread ${returning.id} 'Refund ORD-43'
`)

let ending = false
async function end() {
  // Somebody who has to ask twice does not want to wait.
  if (ending) process.exit(130)
  ending = true
  console.log('\nLetting the tools come to an end; what is left goes on at the next start.')
  await app.close()
  await voice?.close()
  await store.close()
  await desk.close()
  process.exit(0)
}
process.on('SIGINT', end).on('SIGTERM', end)
