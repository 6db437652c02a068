import type { Piece } from '../server/bodies.ts'
import type { Frame } from '../server/frame.ts'
import { renderChat } from '../server/render-chat.ts'
import type { Part, Scenario } from '../server/scenario.ts'
import { stampLength, stampMark } from '../server/scenario.ts'
import { lookUpOrder } from '../server/tool-schemas.ts'
import { watchBuild } from './tools.ts'
import type { Turn } from './turn.ts'

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
