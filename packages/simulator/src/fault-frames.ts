import type { JsonObject } from 'millrace'
import type { ScriptRound } from 'millrace/testing'
import { defaultFailure, failureFrames } from './failures.ts'
import { dataOf, renumbered } from './fault-rendered.ts'
import type { Fault } from './faults.ts'
import { isJsonObject } from './json-object.ts'
import type { Frame, TimelineItem, Wire } from './wire.ts'

type FrameItem = Extract<TimelineItem, { frame: Frame }>

/**
 * Generates a complete response with new ids to the same request, for the same round or another.
 */
export type Regenerate = (round?: ScriptRound) => readonly TimelineItem[]

/** Applies faults to the events of a stream. Returns undefined if the fault has no effect here. */
export function faultOnFrames(
  timeline: readonly TimelineItem[],
  fault: Fault,
  { wire, regenerate }: { readonly wire: Wire; readonly regenerate: Regenerate },
): readonly TimelineItem[] | undefined {
  const frames = timeline.filter((item): item is FrameItem => 'frame' in item)
  const nth = (event: number) => frames.at(event)
  /** The timeline with one item replaced. */
  const replace = (old: TimelineItem, ...now: readonly TimelineItem[]) => {
    const at = timeline.indexOf(old)
    return [...timeline.slice(0, at), ...now, ...timeline.slice(at + 1)]
  }

  switch (fault.kind) {
    case 'duplicate': {
      const item = nth(fault.event)
      return item && replace(item, item, { ...item })
    }
    case 'reorder': {
      const item = nth(fault.event)
      const next = item && frames[frames.indexOf(item) + 1]
      if (!item || !next) return undefined
      return timeline.map((one) => (one === item ? next : one === next ? item : one))
    }
    case 'unknown-event': {
      const item = nth(fault.event)
      return item && replace(item, { frame: unknownEvent[wire] }, item)
    }
    case 'unknown-fields':
      return timeline.map((item) => withFields(item, { x_unknown: { nested: [1, null, 'ü'] } }))
    case 'unknown-block': {
      const terminal = frames.find(({ frame }) => isTerminal(frame))
      if (!terminal) return undefined
      return replace(terminal, ...unknownBlock(frames, wire).map((frame) => ({ frame })), terminal)
    }
    case 'oversize': {
      const item = nth(fault.event)
      if (!item || typeof item.frame.data === 'string') return undefined
      return replace(item, withFields(item, { x_padding: 'x'.repeat(fault.bytes) }))
    }
    case 'malformed': {
      const item = nth(fault.event)
      const data = fault.data ?? '{"id":"half an object'
      return item && replace(item, { frame: { ...item.frame, data } })
    }
    case 'error-frame': {
      const item = nth(fault.event)
      if (!item) return undefined
      const status = fault.status ?? (wire === 'anthropic' ? 529 : 500)
      const firstData = frames[0]?.frame.data
      const response =
        typeof firstData === 'object' && isJsonObject(firstData.response) ? firstData.response : {}
      const { sequence_number: number } = dataOf(item)
      const sequence = typeof number === 'number' ? number : frames.indexOf(item)
      const failed = failureFrames(wire, defaultFailure(wire, status), { sequence, response })
      return [
        ...timeline.slice(0, timeline.indexOf(item)),
        ...failed.map((frame) => ({ frame })),
        { stop: 'end' },
      ]
    }
    case 'splice': {
      const item = nth(fault.event)
      if (!item) return undefined
      const before = timeline.slice(0, timeline.indexOf(item))
      const second = regenerate(fault.round)
      return [...before, ...(fault.start === false ? withoutStart(second, frames, item) : second)]
    }
    case 'sse':
      return fault.done === false ? timeline.filter((item) => !isDone(item)) : undefined
    default:
      return undefined
  }
}

const starts = ['message_start', 'response.created', 'response.queued', 'response.in_progress']

/** A second response in place of `cut` and the rest, as if it were part of the first one. */
function withoutStart(
  timeline: readonly TimelineItem[],
  first: readonly FrameItem[],
  cut: FrameItem,
): TimelineItem[] {
  // Only Chat's chunks have the response id, and only the events of Responses are numbered.
  const { id } = first.map(dataOf).find((data) => data.id !== undefined) ?? {}
  const rest = timeline.filter((item) => {
    const { type, choices } = dataOf(item)
    const [choice] = Array.isArray(choices) ? choices : []
    const isRole = isJsonObject(choice) && isJsonObject(choice.delta) && 'role' in choice.delta
    return !isRole && !starts.includes(String(type))
  })
  const merged = rest.map((item) => (id === undefined ? item : withFields(item, { id })))
  return renumbered(merged, Number(dataOf(cut).sequence_number))
}

const isDone = (item: TimelineItem) => 'frame' in item && item.frame.data === '[DONE]'

function withFields(item: TimelineItem, fields: JsonObject): TimelineItem {
  if (!('frame' in item) || typeof item.frame.data === 'string') return item
  return { frame: { ...item.frame, data: { ...item.frame.data, ...fields } } }
}

const unknownEvent: Record<Wire, Frame> = {
  'openai-chat': { event: 'mystery', data: { object: 'mystery', note: 'not for you' } },
  'openai-responses': {
    event: 'response.mystery.delta',
    data: { type: 'response.mystery.delta', sequence_number: 0, delta: 'not for you' },
  },
  anthropic: { event: 'vertex_event', data: { type: 'vertex_event', note: 'not for you' } },
}

/** The first event about the end of the response. A block may come before it, but not after. */
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

function unknownBlock(frames: readonly FrameItem[], wire: Wire): Frame[] {
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
