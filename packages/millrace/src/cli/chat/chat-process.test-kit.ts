// A program that runs a chat with a scripted agent in its terminal.

import { permission } from '@millrace/tools'
import type { Budget } from '../../agent/index.ts'
import { agent } from '../../agent/index.ts'
import { sqliteStore } from '../../log/sqlite.ts'
import type { ModelRequest } from '../../protocol/index.ts'
import { textOf } from '../../protocol/index.ts'
import type { ScriptRound } from '../../testing/index.ts'
import { scriptedModel } from '../../testing/index.ts'
import { memoryStore, millrace } from '../../threads/index.ts'
import { tool } from '../../tools/index.ts'
import { chat } from './index.ts'

export interface ProcessOptions {
  /** An SQLite file; memory if absent. */
  readonly file?: string
  readonly thread?: string
  readonly historyFile?: string
  readonly paceMs?: number
  readonly budget?: Budget
}

const id = { jsonSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] } }
const idOf = (input: unknown) => (input as { id: string }).id

const lookup = tool({
  name: 'lookup_order',
  description: 'Find an order',
  input: id,
  async run(input, { progress, signal }) {
    progress('asked the carrier')
    // Until it is stopped, or the test has seen it running.
    if (idOf(input) === 'SLOW')
      await new Promise((resolve) => {
        process.once('SIGUSR2', resolve)
        signal.addEventListener('abort', resolve)
      })
    return { id: idOf(input), status: 'shipped' }
  },
})

const refund = tool({
  name: 'refund_order',
  description: 'Refund an order',
  input: id,
  approve: (input) => `Refund ${idOf(input)}?`,
  run: (input) => `refunded ${idOf(input)}`,
})

const save = tool({
  name: 'save_order',
  description: 'Writes an order down',
  input: id,
  access: (input) => [{ kind: 'write', path: idOf(input) }],
  run: (input) => `saved ${idOf(input)}`,
})

const pick = tool({ name: 'pick_color', description: 'A client asks the user', input: id })

let counted = 0

/** The model's answer depends on the last message. */
function answerTo({ messages }: ModelRequest): ScriptRound {
  const last = messages.at(-1)
  if (last?.role === 'tool') return `The tool says: ${JSON.stringify(last.content)}`
  const message = last ? textOf(last) : ''
  const [word, argument = 'ORD-1'] = message.split(' ')
  if (word === 'hello') return '# Greetings\n\nThis is **bold** and `code`:\n\n- one\n- two\n'
  if (word === 'lookup') return [{ text: 'Let me look. ' }, { call: 'lookup_order', input: { id: argument } }]
  if (word === 'refund') return [{ call: 'refund_order', input: { id: argument } }]
  if (word === 'save') return [{ call: 'save_order', input: { id: argument } }]
  if (word === 'pick') return [{ call: 'pick_color', input: { id: argument } }]
  if (word === 'count') return `Answer ${++counted}.`
  if (word === 'hang') return [{ text: 'It never ends: ' }, { hang: true }]
  if (word === 'fail') return [{ error: { message: 'the model is on fire', code: 'auth' } }]
  if (word === 'evil') return 'a \u001b[31mred\u001b[2J \u001b]0;owned\u0007title\u009b1A \u202ekcab b'
  if (word === 'many') return Array.from({ length: 60 }, (_, line) => `- line ${line + 1}`).join('\n')
  return `You said ${JSON.stringify(message)}.`
}

const options = JSON.parse(process.argv[2] ?? '{}') as ProcessOptions
const { file, thread, historyFile, paceMs = 0, budget } = options
const store = file === undefined ? memoryStore() : sqliteStore(file)
let current = 'scripted'
const app = millrace({
  agents: agent({
    name: 'desk',
    model: scriptedModel(answerTo, { id: 'scripted', paceMs, deltaChars: [3, 1, 5] }),
    tools: [lookup, refund, save, pick],
    permission: permission({ allow: ['lookup_order', 'refund_order', 'pick_color'], deny: ['write(*.env)'] }),
  }),
  store,
  budget,
})
process.exitCode = await chat({
  app,
  thread,
  historyFile,
  tools: [lookup, refund],
  model: {
    name: () => current,
    use(name) {
      if (name === 'none') throw new Error('no such model')
      current = name
    },
  },
})
await app.close({ graceMs: 0 })
await store.close()
