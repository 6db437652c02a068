import { mkdirSync } from 'node:fs'
import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { exchangeFolder, serve } from 'millrace/server'
import { sqliteStore } from 'millrace/sqlite'
import { supportDesk } from './agent.ts'
import { deskModel } from './model.ts'
import { deskVoice } from './voice.ts'

/** Always the same port, so that an open page finds the desk again after a restart. */
const { PORT = '7070', MILLRACE_DATA } = process.env

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
const { url, port } = await listen(Number(PORT))

// The commands below create threads, since earlier ones may still be waiting for approval.
const suffix = crypto.randomUUID().slice(0, 4)
const [asking, returning] = [`where-${suffix}`, `return-${suffix}`]
const json = "-H 'content-type: application/json'"
const create = (thread: object) => `curl -so /dev/null ${url}/threads ${json} -d '${JSON.stringify(thread)}'`

const file = relative('.', data)
const cli = `npx millrace --data ${file}`

// The server keeps running if stdout is closed (`npm start | head -1`).
process.stdout.on('error', () => {})
console.log(`Millrace support desk: open ${url}/
${port === Number(PORT) || PORT === '0' ? '' : `Port ${PORT} is in use, so this is port ${port}.\n`}
Ask where ORD-42 is, or ask for a refund of ORD-43, and watch it think, call tools and answer.
Press the speaker to hear it.

${desk.about}
Agents: ${app.agents.join(', ')}. Threads are stored in ${file}. Ctrl-C shuts down cleanly.

From another terminal:

  ${create({ id: asking })} && curl -N ${url}/threads/${asking}/messages -H 'accept: text/event-stream' ${json} -d '{"message":"Where is ORD-42?"}'

  ${cli} show ${asking} --pace

  ${create({ id: returning, agent: 'returns' })} && ${cli} --thread ${returning} 'Refund ORD-43'
`)

/** Listens on a port, or on the next one that is free. */
async function listen(first: number, next = first): ReturnType<typeof app.listen> {
  try {
    return await app.listen({ port: next })
  } catch (error) {
    if (!/EADDRINUSE/.test(String(error)) || next === first + 20) throw error
    return listen(first, next + 1)
  }
}

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
