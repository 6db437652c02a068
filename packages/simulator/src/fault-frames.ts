import type { JsonObject } from 'millrace'
import type { ScriptRound } from 'millrace/testing'
import { failureFrames, usualFailure } from './failures.ts'
import { dataOf, renumbered } from './fault-rendered.ts'
import type { Fault } from './faults.ts'
import { isJsonObject } from './json-object.ts'
import type { Beat, Frame, Wire } from './wire.ts'

type FrameBeat = Extract<Beat, { frame: Frame }>

/** A whole answer with fresh ids, to the same request: the same round, or another. */
export type AnswerAgain = (round?: ScriptRound) => readonly Beat[]

/** What goes wrong between the events. Undefined if the fault is of another kind, or the place is not there. */
export function faultOnFrames(
  beats: readonly Beat[],
  fault: Fault,
  { wire, answerAgain }: { readonly wire: Wire; readonly answerAgain: AnswerAgain },
): readonly Beat[] | undefined {
  const frames = beats.filter((beat): beat is FrameBeat => 'frame' in beat)
  const nth = (event: number) => frames.at(event)
  /** The beats with these in the place of one. */
  const replace = (old: Beat, ...now: readonly Beat[]) => {
    const at = beats.indexOf(old)
    return [...beats.slice(0, at), ...now, ...beats.slice(at + 1)]
  }

  switch (fault.kind) {
    case 'duplicate': {
      const beat = nth(fault.event)
      return beat && replace(beat, beat, { ...beat })
    }
    case 'reorder': {
      const beat = nth(fault.event)
      const next = beat && frames[frames.indexOf(beat) + 1]
      if (!beat || !next) return undefined
      return beats.map((one) => (one === beat ? next : one === next ? beat : one))
    }
    case 'unknown-event': {
      const beat = nth(fault.event)
      return beat && replace(beat, { frame: unknownEvent[wire] }, beat)
    }
    case 'unknown-fields':
      return beats.map((beat) => withFields(beat, { x_unknown: { nested: [1, null, 'ü'] } }))
    case 'unknown-block': {
      const terminal = frames.find(({ frame }) => isTerminal(frame))
      if (!terminal) return undefined
      return replace(terminal, ...unknownBlock(frames, wire).map((frame) => ({ frame })), terminal)
    }
    case 'oversize': {
      const beat = nth(fault.event)
      if (!beat || typeof beat.frame.data === 'string') return undefined
      return replace(beat, withFields(beat, { x_padding: 'x'.repeat(fault.bytes) }))
    }
    case 'malformed': {
      const beat = nth(fault.event)
      const data = fault.data ?? '{"id":"half an object'
      return beat && replace(beat, { frame: { ...beat.frame, data } })
    }
    case 'error-frame': {
      const beat = nth(fault.event)
      if (!beat) return undefined
      const status = fault.status ?? (wire === 'anthropic' ? 529 : 500)
      const begun = frames[0]?.frame.data
      const response = typeof begun === 'object' && isJsonObject(begun.response) ? begun.response : {}
      const { sequence_number: number } = dataOf(beat)
      const sequence = typeof number === 'number' ? number : frames.indexOf(beat)
      const failed = failureFrames(wire, usualFailure(wire, status), { sequence, response })
      return [...beats.slice(0, beats.indexOf(beat)), ...failed.map((frame) => ({ frame })), { stop: 'end' }]
    }
    case 'splice': {
      const beat = nth(fault.event)
      if (!beat) return undefined
      const before = beats.slice(0, beats.indexOf(beat))
      const second = answerAgain(fault.round)
      return [...before, ...(fault.start === false ? withoutStart(second, frames, beat) : second)]
    }
    case 'sse':
      return fault.done === false ? beats.filter((beat) => !isDone(beat)) : undefined
    default:
      return undefined
  }
}

const starts = ['message_start', 'response.created', 'response.queued', 'response.in_progress']

/** An answer that takes the place of `cut` and the rest as if it were a part of the first answer. */
function withoutStart(beats: readonly Beat[], first: readonly FrameBeat[], cut: FrameBeat): Beat[] {
  // Only Chat's chunks have the id of the answer, and only the events of Responses have numbers.
  const { id } = first.map(dataOf).find((data) => data.id !== undefined) ?? {}
  const rest = beats.filter((beat) => {
    const { type, choices } = dataOf(beat)
    const [choice] = Array.isArray(choices) ? choices : []
    const isRole = isJsonObject(choice) && isJsonObject(choice.delta) && 'role' in choice.delta
    return !isRole && !starts.includes(String(type))
  })
  const joined = rest.map((beat) => (id === undefined ? beat : withFields(beat, { id })))
  return renumbered(joined, Number(dataOf(cut).sequence_number))
}

const isDone = (beat: Beat) => 'frame' in beat && beat.frame.data === '[DONE]'

function withFields(beat: Beat, fields: JsonObject): Beat {
  if (!('frame' in beat) || typeof beat.frame.data === 'string') return beat
  return { frame: { ...beat.frame, data: { ...beat.frame.data, ...fields } } }
}

const unknownEvent: Record<Wire, Frame> = {
  'openai-chat': { event: 'mystery', data: { object: 'mystery', note: 'not for you' } },
  'openai-responses': {
    event: 'response.mystery.delta',
    data: { type: 'response.mystery.delta', sequence_number: 0, delta: 'not for you' },
  },
  anthropic: { event: 'vertex_event', data: { type: 'vertex_event', note: 'not for you' } },
}

/** The first event that says how the answer came out: a block may stand before it, not behind. */
function isTerminal({ data }: Frame): boolean {
  if (typeof data === 'string') return data === '[DONE]'
  if (
    data.type === 'message_delta' ||
    data.type === 'response.completed' ||
    data.type === 'response.incomplete'
  )
    return true
  const [choice] = Array.isArray(data.choices) ? data.choices : []
  return isJsonObject(choice) && typeof choice.finish_reason === 'string'
}

function unknownBlock(frames: readonly FrameBeat[], wire: Wire): Frame[] {
  const all = frames.map(({ frame }) => frame.data).filter((data) => typeof data !== 'string')
  const after = (key: string) =>
    all.reduce((next, data) => (typeof data[key] === 'number' ? Math.max(next, data[key] + 1) : next), 0)
  if (wire === 'anthropic') {
    const index = after('index')
    const send = (type: string, fields: JsonObject) => ({ event: type, data: { type, index, ...fields } })
    return [
      send('content_block_start', { content_block: { type: 'mystery', secret: '' } }),
      send('content_block_delta', { delta: { type: 'mystery_delta', secret: 'not for you' } }),
      send('content_block_stop', {}),
    ]
  }
  if (wire === 'openai-responses') {
    const output_index = after('output_index')
    const item = { id: 'my_1', type: 'mystery_call', status: 'completed', secret: 'not for you' }
    return ['response.output_item.added', 'response.output_item.done'].map((type, nth) => ({
      event: type,
      data: { type, sequence_number: after('sequence_number') + nth, output_index, item },
    }))
  }
  const choice = {
    index: 0,
    delta: { mystery: [{ secret: 'not for you' }] },
    logprobs: null,
    finish_reason: null,
  }
  return [{ data: { ...all[0], choices: [choice] } }]
}
