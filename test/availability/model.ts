import { setTimeout as wait } from 'node:timers/promises'
import type { Message, Model, ModelEvent } from '../../packages/millrace/src/protocol/index.ts'
import { tool } from '../../packages/millrace/src/tools/index.ts'
import { answerText, wordMs } from './options.ts'

/** The size of a result of the tool `large`. */
const largeChars = 2 * 1024 * 1024

const input = { jsonSchema: { type: 'object' } } as const

export const tools = [
  tool({ name: 'look', description: 'Looks', input, repeat: 'safe', run: () => 'seen' }),
  tool({ name: 'large', description: 'Returns a lot', input, run: () => 'x'.repeat(largeChars) }),
]

const call = (name: string, number = 0): ModelEvent => {
  return { type: 'tool-call', callId: `call_${number}`, name, input: { number } }
}

/**
 * The first word of a message selects the answer:
 * - `say <id>`: a tool call, then the words of that id, one after the other
 * - `slow`: words for a minute
 * - `calls <count>`: this many tool calls in one round
 * - `large <count>`: this many calls of a tool that returns 2 MB
 *
 * The answer to anything else is one word.
 */
async function* answer(text: string, hasResults: boolean): AsyncGenerator<ModelEvent> {
  const [what, about = ''] = text.slice(0, 100).split(' ')
  if (what === 'slow')
    for (let second = 0; second < 60; second++) {
      yield { type: 'text', text: 'slowly ' }
      await wait(1000)
    }
  else if (what === 'say' && hasResults)
    for (const word of answerText(about).split(/(?<= )/)) {
      yield { type: 'text', text: word }
      await wait(wordMs)
    }
  else if (what === 'say') yield call('look')
  else if ((what === 'calls' || what === 'large') && !hasResults)
    for (let number = 0; number < Number(about); number++)
      yield call(what === 'calls' ? 'look' : 'large', number)
  else yield { type: 'text', text: 'Noted.' }
  yield { type: 'done', finish: 'stop', usage: { inputTokens: 10, outputTokens: 10 } }
}

export const model: Model = {
  id: 'soak',
  provider: 'soak',
  capabilities: {
    streaming: true,
    tools: true,
    reasoning: false,
    images: false,
    files: false,
    structuredOutput: false,
  },
  stream({ messages }) {
    const last = messages.findLastIndex(({ role }) => role === 'user')
    return answer(textOf(messages[last]), last < messages.length - 1)
  },
}

function textOf(message: Message | undefined): string {
  return typeof message?.content === 'string' ? message.content : ''
}
