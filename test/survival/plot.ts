import type { SimulatedRequest } from '@millrace/simulator'
import type { JsonObject } from '../../packages/millrace/src/protocol/index.ts'
import { isObject } from '../../packages/millrace/src/protocol/index.ts'
import type { ScriptStep } from '../../packages/millrace/src/testing/index.ts'
import type { DeskTool } from './desk.ts'
import { random } from './random.ts'

/** Where a conversation stands: which message of which thread is answered, and which round of that it is, from 0. */
export interface Scene {
  readonly thread: string
  readonly message: number
  readonly round: number
}

/** What a user says. The model knows by it what to do. */
export function messageText(thread: string, message: number): string {
  return `${thread} ${message}`
}

/** How rounds are made: the same scene always gives the same one, so that a round that is told again is the same again. */
export type Plot = (scene: Scene) => readonly ScriptStep[]

const phrase =
  'the parcel left Lyon on Monday, was weighed – 1.2 kg – and stands at gate № 7; né à Besançon, 価格は 128 €, all of it 👍 paid. '
/** By characters, so that none is cut in two. */
const words = Array.from(phrase.repeat(3))
const cut = (start: number, length: number) => words.slice(start, start + length).join('')

/** Up to three rounds with tools, side by side and with words around them, then an answer. A helper goes about it just so. */
export function randomPlot(seed: string): Plot {
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
      const ms = tool === 'ship' || tool === 'count' ? chosen.whole(60, 250) : chosen.whole(0, 25)
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

const errands: readonly DeskTool[] = ['look', 'look', 'charge', 'charge', 'count', 'ship', 'refund']

/** What a call is about, whichever tool it is of. */
export function purposeOf(input: JsonObject | undefined): unknown {
  return input?.op ?? input?.prompt
}

/** The text of a round, as a follower of the thread reads it. */
export function wordsOf(steps: readonly ScriptStep[]): string {
  return steps.map((step) => ('text' in step ? step.text : '')).join('')
}

/** Where the conversation stands that a request was sent for, on either wire. */
export function sceneOf({ body }: Pick<SimulatedRequest, 'body'>): Scene {
  const messages = isObject(body) && Array.isArray(body.messages) ? body.messages.filter(isObject) : []
  const spoken = messages.findLastIndex(({ role, content }) => role === 'user' && textIn(content) !== '')
  const [thread = '', message] = textIn(messages[spoken]?.content).split(' ')
  const round = messages.slice(spoken).filter(({ role }) => role === 'assistant').length
  return { thread, message: Number(message), round }
}

/** What was said last: a provider that wants turns by turns is sent several messages as one. */
function textIn(content: unknown): string {
  const parts = Array.isArray(content) ? content.filter(isObject) : [{ type: 'text', text: content }]
  return String(parts.findLast(({ type }) => type === 'text')?.text ?? '')
}
