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

/** How far the conversation of a request is. */
export interface Turn {
  readonly thread: string
  /** `talk`, `watch` or `greet`. */
  readonly topic: string
  /** How many messages the user has sent. */
  readonly message: number
  /** How many rounds there were since the last one. */
  readonly round: number
  /** Whether the request asks for usage. */
  readonly usage: boolean
}

/** A message that names its thread and topic. */
export const messageFor = (thread: string, topic: 'talk' | 'watch' | 'greet') => `${thread} ${topic}`

/** The number of the server that is sent the messages for a thread. */
export const homeOf = (thread: string, servers: number) => Number(thread.slice(1)) % servers

interface Body {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  readonly stream_options?: { readonly include_usage?: boolean }
}

/** Reads the body of a Chat Completions request. */
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

/** A message is text, or a list of parts with text. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  const parts: readonly { readonly text?: string }[] = Array.isArray(content) ? content : []
  return parts.map(({ text = '' }) => text).join('')
}

/** A tool that reports more progress than the buffers of a connection hold (4 MB on Linux). */
export const watchBuild: ToolSchema = {
  name: 'watch_build',
  description: 'Shows the output of a build',
  jsonSchema: lookUpOrder.jsonSchema,
}

const reports = 80
const reportChars = 64 * 1024

/** Its reports, in order. */
export function* buildOutput(): Generator<string> {
  for (let number = 1; number <= reports; number++) yield `step ${number} `.padEnd(reportChars, '.')
}

/** A word is the time at which it was written and a space. */
export const deltaLength = stampLength + 1

/** Words before the tool call. */
const openingDeltas = 10

export interface AnswerInput {
  /** Words of an answer, over all of its rounds. */
  readonly deltas: number
  readonly everyMs: number
}

export interface Answer {
  readonly pieces: readonly Piece[]
  /** Whether the run ends after it. */
  readonly isLast: boolean
}

/**
 * The model's answers. Long rounds are rendered once; rounds with a tool call each time, since its
 * id is unique.
 */
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

/** The renderer gets the parts; it does not use the rest of a scenario. */
const scenario: Scenario = { rounds: 2, callsPerRound: 1, tools: [], round: () => [] }

/** A frame with a delay starts a piece; others join the piece before. */
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
