import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { agent, tool } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { type Action, readActions } from './actions.ts'

// What every protocol serves. It does what the last message says, and its tools write to a file
// what they did, across all processes.

export const story = Array.from({ length: 60 }, (_, number) => `Sentence ${number + 1}.`).join(' ')

const actions = process.env.DESK_ACTIONS ?? ''
const note = (action: Action) => appendFileSync(actions, `${JSON.stringify(action)}\n`)
const noInput = { jsonSchema: { type: 'object' } }
const slowly = (text: string) => text.split(/(?<= )/).flatMap((text) => [{ text }, { pause: 12 }])

/** A tool that only finishes once the other one has started too. */
const together = (name: string, other: string) =>
  tool({
    name,
    description: 'Runs together with another tool',
    input: noInput,
    async run() {
      note({ tool: name, part: 'begin' })
      while (!readActions(actions).some(({ tool }) => tool === other)) await sleep(10)
      note({ tool: name, part: 'end' })
      return `${name} is done`
    },
  })

const noted = (name: string, approve: boolean) =>
  tool({
    name,
    description: 'Writes down that it ran',
    input: noInput,
    approve,
    run() {
      note({ tool: name, part: 'end' })
      return `${name} is done`
    },
  })

const sleeper = tool({
  name: 'wait_long',
  description: 'Starts a process that takes very long',
  input: noInput,
  async run(_, { signal, progress }) {
    const child = spawn('sleep', ['1000'], { stdio: 'ignore' })
    signal.addEventListener('abort', () => child.kill('SIGKILL'), { once: true })
    note({ tool: 'wait_long', part: 'begin', pid: child.pid })
    progress('waiting')
    await once(child, 'exit')
    return 'woken up'
  },
})

const model = scriptedModel(({ messages }) => {
  const last = messages.at(-1)
  const asked = messages.findLast(({ role }) => role === 'user')
  const request = JSON.stringify(asked?.content)
  if (last?.role === 'tool') {
    if (request.includes('charge')) return slowly(story)
    const denied = /denied/i.test(JSON.stringify(messages.slice(messages.lastIndexOf(asked as never))))
    return denied ? 'Nothing was paid.' : 'Everything is done.'
  }
  if (request.includes('story')) return slowly(story)
  if (request.includes('both')) return [{ text: 'Both. ' }, { call: 'left' }, { call: 'right' }]
  if (request.includes('pay')) return [{ text: 'It costs five. ' }, { call: 'pay' }]
  if (request.includes('charge')) return [{ call: 'charge' }]
  if (request.includes('wait')) return [{ text: 'One moment. ' }, { call: 'wait_long' }]
  if (request.includes('fail')) return [{ text: 'I will ' }, { error: { message: 'the model is broken' } }]
  return 'At your service.'
})

export default agent({
  name: 'desk',
  description: 'Does what it is asked',
  model,
  retry: { attempts: 1 },
  tools: [
    together('left', 'right'),
    together('right', 'left'),
    noted('pay', true),
    noted('charge', false),
    sleeper,
  ],
})
