// Run as a program: `node --conditions=@millrace/source remote-agents.test-kit.ts <file> <port>`. Our own
// server, with agents whose answers take long or need a person. Prints its address.
import { agent, tool } from 'millrace'
import { serve } from 'millrace/server'
import { sqliteStore } from 'millrace/sqlite'
import { scriptedModel } from 'millrace/testing'
import { a2a } from './a2a.ts'
import { mcpProtocol } from './mcp.ts'

const [file = '', port] = process.argv.slice(2)
const pay = tool({
  name: 'pay',
  description: 'Pays',
  input: { jsonSchema: { type: 'object' } },
  approve: true,
  run: () => 'paid',
})
const slow = agent({
  name: 'slow',
  model: scriptedModel(() => [{ text: 'Well. ' }, { pause: 2500 }, { text: 'That took long.' }]),
})
const payer = agent({
  name: 'payer',
  model: scriptedModel(({ messages }) => {
    const { role, content } = messages.at(-1) ?? {}
    if (role !== 'tool') return [{ call: 'pay' }]
    return /denied/.test(JSON.stringify(content)) ? 'Nothing was paid.' : 'It is paid.'
  }),
  tools: [pay],
})
const app = serve({
  agents: { slow, payer },
  store: sqliteStore(file),
  protocols: [mcpProtocol({ taskAfterMs: 100 }), a2a()],
  leaseMs: 800,
  recoverMs: 100,
})
const { url } = await app.listen({ port: Number(port) })
process.stdout.write(`${url}\n`)
process.stdin.on('end', () => process.exit()).resume()
