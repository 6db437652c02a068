import type { SimulatedRequest } from '@millrace/simulator'
import type { JsonObject } from '../../packages/millrace/src/protocol/index.ts'
import { isObject } from '../../packages/millrace/src/protocol/index.ts'
import type { ScriptStep } from '../../packages/millrace/src/testing/index.ts'
import type { DeskTool } from './desk.ts'
import { random } from './random.ts'

/**
 * A round of a conversation: its thread, the message that is answered, and the number of the round,
 * from 0.
 */
export interface Position {
  readonly thread: string
  readonly message: number
  readonly round: number
}

/** The text of a user's message. The model derives its answer from it. */
export function messageText(thread: string, message: number): string {
  return `${thread} ${message}`
}

/**
 * Generates rounds. The same position always has the same round, so that a round that is generated
 * again is the same.
 */
export type Scenario = (position: Position) => readonly ScriptStep[]

const phrase =
  'the parcel left Lyon on Monday, was weighed – 1.2 kg – and stands at gate № 7; né à Besançon, 価格は 128 €, all of it 👍 paid. '
/** By code points, so that none is cut in two. */
const words = Array.from(phrase.repeat(3))
const cut = (start: number, length: number) => words.slice(start, start + length).join('')

/**
 * Up to three rounds with text and parallel tool calls, then an answer. The sub-agent does the
 * same.
 */
export function randomScenario(seed: string): Scenario {
  return ({ thread, message, round }) => {
    const name = `${thread}.${message}.${round}`
    const isHelper = thread.includes('.')
    const rounds = random(`${seed}/${thread}.${message}`).whole(0, isHelper ? 2 : 3)
    const chosen = random(`${seed}/${name}`)
    const say = (most: number): ScriptStep[] =>
      chosen.chance(0.7) ? [{ text: cut(chosen.whole(0, 60), chosen.whole(10, most)) }] : []
    const pause = (): ScriptStep[] => (chosen.chance(0.6) ? [{ pause: chosen.whole(1, 40) }] : [])
    if (round >= rounds) return [...say(200), ...pause(), ...say(100), { text: `So ${name} is settled.` }]

    function call(op: string): ScriptStep {
      const tool = chosen.pick([...errands, ...(isHelper ? [] : ['helper'])])
      if (tool === 'helper') return { call: tool, input: { prompt: messageText(op, 1) } }
      const ms = slowTools.has(tool) ? chosen.whole(60, 250) : chosen.whole(0, 25)
      return { call: tool, input: { op, ms, note: cut(0, chosen.whole(0, 90)) } }
    }
    const calls = Array.from({ length: chosen.pick([1, 1, 2, 3]) }, (_, index): ScriptStep[] => [
      ...say(80),
      ...pause(),
      call(`${name}.${index}`),
    ])
    return [...say(120), ...calls.flat(), ...say(60), ...pause()]
  }
}

/** These take longer than others. */
export const slowTools: ReadonlySet<string> = new Set<DeskTool>(['ship', 'count'])

const errands: readonly DeskTool[] = ['look', 'look', 'charge', 'charge', 'count', 'ship', 'refund']

/** What a tool call is for, whatever its tool. */
export function purposeOf(input: JsonObject | undefined): unknown {
  return input?.op ?? input?.prompt
}

/** The text of a round, as a follower of the thread reads it. */
export function wordsOf(steps: readonly ScriptStep[]): string {
  return steps.map((step) => ('text' in step ? step.text : '')).join('')
}

/** The position of a request, on either wire. */
export function positionOf({ body }: Pick<SimulatedRequest, 'body'>): Position {
  const messages = isObject(body) && Array.isArray(body.messages) ? body.messages.filter(isObject) : []
  const spoken = messages.findLastIndex(({ role, content }) => role === 'user' && textIn(content) !== '')
  const [thread = '', message] = textIn(messages[spoken]?.content).split(' ')
  const round = messages.slice(spoken).filter(({ role }) => role === 'assistant').length
  return { thread, message: Number(message), round }
}

/**
 * The last text: for a provider with strictly alternating roles, several messages are sent as one.
 */
function textIn(content: unknown): string {
  const parts = Array.isArray(content) ? content.filter(isObject) : [{ type: 'text', text: content }]
  return String(parts.findLast(({ type }) => type === 'text')?.text ?? '')
}
