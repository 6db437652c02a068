import { setTimeout as wait } from 'node:timers/promises'
import type { Message, Model } from 'millrace'
import { toolCall } from 'millrace'
import { lookUpOrder } from '../server/tool-schemas.ts'
import { roundTexts, wordsOf } from './answer.ts'
import type { Mark } from './said.ts'
import { now } from './said.ts'

export interface NotedModel extends Model {
  /** When it said what, by the thread that asked. */
  readonly said: ReadonlyMap<string, readonly Mark[]>
}

/** Gives the same answer to everybody, one word after the other, and notes when. The first word of a question is the thread's name. */
export function notedModel(wordMs: number): NotedModel {
  const said = new Map<string, Mark[]>()
  let calls = 0
  return {
    id: 'noted',
    provider: 'bench',
    capabilities: {
      tools: true,
      images: false,
      files: false,
      reasoning: false,
      streaming: true,
      structuredOutput: false,
    },
    said,
    async *stream({ messages }, { signal }) {
      const thread = threadOf(messages)
      const marks = said.get(thread) ?? []
      said.set(thread, marks)
      const isFirst = messages.at(-1)?.role === 'user'
      const start = now()
      for (const [index, text] of wordsOf(roundTexts[isFirst ? 0 : 1] ?? '').entries()) {
        // Against the clock and not after the last one, so that being late does not add up.
        const early = start + (index + 1) * wordMs - now()
        if (early > 0) await wait(early, undefined, { signal })
        marks.push([(marks.at(-1)?.[0] ?? 0) + text.length, now()])
        yield { type: 'text', text }
      }
      if (isFirst)
        yield toolCall({ callId: `call_${++calls}`, name: lookUpOrder.name, raw: '{"id":"ORD-42"}' })
      yield { type: 'done', finish: isFirst ? 'tool-calls' : 'stop' }
    },
  }
}

function threadOf(messages: readonly Message[]): string {
  const question = messages.findLast(({ role }) => role === 'user')?.content ?? ''
  const text =
    typeof question === 'string'
      ? question
      : question.map((part) => ('text' in part ? part.text : '')).join('')
  return text.split(' ')[0] ?? ''
}
