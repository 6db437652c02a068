import { agent } from 'millrace'
import { client } from 'millrace/client'
import { serve } from 'millrace/server'
import { sqliteStore } from 'millrace/sqlite'
import { scriptedModel } from 'millrace/testing'

// What needs modules of Node: a server of its own, WebSockets, SQLite.

const store = sqliteStore('threads.db')
const app = serve({ agents: { echo: agent({ model: scriptedModel(() => 'Hello.') }) }, store })
const { url } = await app.listen()
for (const transport of ['sse', 'websocket'] as const) {
  const thread = await client(url, { transport }).create()
  const seq = await thread.send('Hello?')
  for await (const { event } of thread.follow({ until: seq }))
    if (event.type === 'text') process.stdout.write(`${transport} ${event.text}\n`)
}
await app.close()
await store.close()
