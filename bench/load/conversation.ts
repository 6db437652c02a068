import { type Frame, renderChat } from '../server/render.ts'
import {
  lookUpOrder,
  type Part,
  type Scenario,
  stampLength,
  stampMark,
  type ToolSchema,
} from '../server/scenario.ts'
import type { Piece } from '../server/serve.ts'

/** Where the conversation stands that a request was sent for. */
export interface Turn {
  readonly thread: string
  /** What it is about: `talk`, `watch` or `greet`. */
  readonly topic: string
  /** How many messages the user has sent. */
  readonly message: number
  /** How many times the model was asked since the last one. */
  readonly round: number
  /** Whether it asks for the usage. */
  readonly usage: boolean
}

/** What the user says: whose thread it is, and what about. */
export const messageFor = (thread: string, topic: 'talk' | 'watch' | 'greet') => `${thread} ${topic}`

interface Body {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  readonly stream_options?: { readonly include_usage?: boolean }
}

/** Reads the body of a request of Chat Completions. */
export function readTurn(body: string): Turn {
  const { messages, stream_options: options }: Body = JSON.parse(body)
  const last = messages.findLastIndex(({ role }) => role === 'user')
  const [thread = '', topic = ''] = textOf(messages[last]?.content).split(' ')
  return {
    thread,
    topic,
    message: messages.filter(({ role }) => role === 'user').length,
    round: messages.slice(last).filter(({ role }) => role === 'assistant').length,
    usage: options?.include_usage === true,
  }
}

/** A message is text, or parts of which one is. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  const parts: readonly { readonly text?: string }[] = Array.isArray(content) ? content : []
  return parts.map(({ text = '' }) => text).join('')
}

/** A tool that tells a lot while it works: more than the buffers of a connection hold, which are 4 MB on Linux. */
export const watchBuild: ToolSchema = {
  name: 'watch_build',
  description: 'Shows what a build says',
  jsonSchema: lookUpOrder.jsonSchema,
}

const reports = 80
const reportChars = 64 * 1024

/** What it says, one report after the other. */
export function* buildOutput(): Generator<string> {
  for (let number = 1; number <= reports; number++) yield `step ${number} `.padEnd(reportChars, '.')
}

/** A word says when it was written, and ends with a space. */
export const deltaLength = stampLength + 1

/** So many words before a tool is called. */
const openingDeltas = 10

export interface AnswerInput {
  /** So many words all rounds of an answer have together. */
  readonly deltas: number
  readonly everyMs: number
}

export interface Answer {
  readonly pieces: readonly Piece[]
  /** After it the run is over. */
  readonly isLast: boolean
}

/** What the model says. Long rounds are rendered once, those with a call each time, since every call has an id of its own. */
export function answers({ deltas, everyMs }: AnswerInput): (turn: Turn) => Answer {
  const long = new Map<boolean, readonly Piece[]>()
  const words = (count: number): Part => ({
    type: 'text',
    everyMs,
    deltas: Array.from({ length: count }, (_, at) => `${stampMark(at)} `),
  })

  function render({ thread, message, round, usage }: Turn, parts: readonly Part[]): readonly Piece[] {
    const name = `${thread}/${message}`
    const options = { usage, obfuscation: false }
    return piecesOf(renderChat({ name, scenario, round, parts, options }))
  }

  return (turn) => {
    if (turn.topic === 'greet') return { pieces: render(turn, [words(openingDeltas)]), isLast: true }
    if (turn.round === 0) {
      const call = turn.topic === 'watch' ? callOf(watchBuild.name) : callOf(lookUpOrder.name)
      return { pieces: render(turn, [words(openingDeltas), call]), isLast: false }
    }
    if (turn.topic === 'watch') return { pieces: render(turn, [words(openingDeltas)]), isLast: true }
    const pieces = long.get(turn.usage) ?? render(turn, [words(deltas - openingDeltas)])
    long.set(turn.usage, pieces)
    return { pieces, isLast: true }
  }
}

function callOf(name: string): Part {
  const input = { id: 'ORD-42' }
  return { type: 'call', name, input, deltas: ['{"id":', '"ORD', '-42"}'] }
}

/** The renderer is given the parts; the rest of a scenario is for others. */
const scenario: Scenario = { rounds: 2, callsPerRound: 1, tools: [], round: () => [] }

/** What waits begins a piece; what does not goes along with the one before. */
function piecesOf(frames: readonly Frame[]): Piece[] {
  const groups: { waitMs: number; text: string }[] = []
  for (const { waitMs, text } of frames) {
    const last = groups.at(-1)
    if (last && waitMs === 0) last.text += text
    else groups.push({ waitMs, text })
  }
  return groups.map(({ waitMs, text }) => ({
    waitMs,
    bytes: Buffer.from(text),
    stamps: Array.from(text.matchAll(/~stamp~(\d{10})~/g), ({ index, 1: number }) => ({
      at: index,
      index: Number(number),
    })),
  }))
}
