import type { JsonObject, JsonValue } from 'millrace'
import type { Fault } from './faults.ts'
import { isJsonObject } from './json-object.ts'
import type { Frame, Rendered, RenderInput, TimelineItem, Wire } from './wire.ts'

/** Applies faults of unusual streaming. Returns undefined if the fault has no effect here. */
export function faultOnRendered(
  rendered: Rendered,
  fault: Fault,
  { wire, nextId }: { readonly wire: Wire; readonly nextId: RenderInput['nextId'] },
): Rendered | undefined {
  const { timeline } = rendered
  switch (fault.kind) {
    case 'content-in-start': {
      const stop = timeline.find((item) => typeOf(item) === 'message_stop')
      if (!stop) return undefined
      const start = frameOf('message_start', { message: withContainer(rendered.whole, nextId) })
      return {
        ...rendered,
        timeline: [...timeline.filter((item) => !('frame' in item)), { frame: start }, stop],
      }
    }
    case 'no-item-done': {
      const done = timeline.find(
        (item) => typeOf(item) === 'response.output_item.done' && dataOf(item).output_index === fault.item,
      )
      return done && { ...rendered, timeline: renumbered(timeline.filter((item) => item !== done)) }
    }
    case 'empty':
      if (wire !== 'openai-chat' || fault.finish !== undefined) return undefined
      return {
        ...rendered,
        timeline: timeline.filter((item) => !('frame' in item) || item.frame.data === '[DONE]'),
      }
    default:
      return undefined
  }
}

/** Renumbers the events of Responses, starting at `next`. */
export function renumbered(timeline: readonly TimelineItem[], next = 0): TimelineItem[] {
  return timeline.map((item) => {
    const data = dataOf(item)
    if (!('frame' in item) || data.sequence_number === undefined) return item
    return { frame: { ...item.frame, data: { ...data, sequence_number: next++ } } }
  })
}

/** The JSON of an event, or an empty object. */
export const dataOf = (item: TimelineItem): JsonObject =>
  'frame' in item && typeof item.frame.data !== 'string' ? item.frame.data : {}

const typeOf = (item: TimelineItem) => dataOf(item).type

const frameOf = (type: string, fields: JsonObject): Frame => ({ event: type, data: { type, ...fields } })

/** Adds the caller to tool calls made by code, and the container of that code. */
function withContainer({ content, ...message }: JsonObject, nextId: RenderInput['nextId']): JsonObject {
  let caller: JsonValue | undefined
  const blocks = (Array.isArray(content) ? content : []).map((block) => {
    if (!isJsonObject(block)) return block
    const { type, id = '' } = block
    if (type === 'server_tool_use' && String(block.name).endsWith('code_execution'))
      caller = { type: 'code_execution_20250825', tool_id: id }
    return type === 'tool_use' && caller ? { ...block, caller } : block
  })
  const expires_at = new Date(Date.now() + 5 * 60_000).toISOString()
  const container = { id: nextId('container_01'), expires_at }
  return { ...message, content: blocks, container }
}
