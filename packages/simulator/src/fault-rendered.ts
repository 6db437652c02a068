import type { JsonObject, JsonValue } from 'millrace'
import type { Fault } from './faults.ts'
import { isJsonObject } from './json-object.ts'
import type { Beat, Frame, Rendered, RenderInput, Wire } from './wire.ts'

/** How the provider streams a whole answer in an unusual way. Undefined if the fault is of another kind, or changes nothing here. */
export function faultOnRendered(
  rendered: Rendered,
  fault: Fault,
  { wire, nextId }: { readonly wire: Wire; readonly nextId: RenderInput['nextId'] },
): Rendered | undefined {
  const { beats } = rendered
  switch (fault.kind) {
    case 'content-in-start': {
      const stop = beats.find((beat) => typeOf(beat) === 'message_stop')
      if (!stop) return undefined
      const start = frameOf('message_start', { message: withContainer(rendered.whole, nextId) })
      return { ...rendered, beats: [...beats.filter((beat) => !('frame' in beat)), { frame: start }, stop] }
    }
    case 'no-item-done': {
      const done = beats.find(
        (beat) => typeOf(beat) === 'response.output_item.done' && dataOf(beat).output_index === fault.item,
      )
      return done && { ...rendered, beats: renumbered(beats.filter((beat) => beat !== done)) }
    }
    case 'empty':
      if (wire !== 'openai-chat' || fault.finish !== undefined) return undefined
      return {
        ...rendered,
        beats: beats.filter((beat) => !('frame' in beat) || beat.frame.data === '[DONE]'),
      }
    default:
      return undefined
  }
}

/** Responses numbers its events; these go on from `next`. */
export function renumbered(beats: readonly Beat[], next = 0): Beat[] {
  return beats.map((beat) => {
    const data = dataOf(beat)
    if (!('frame' in beat) || data.sequence_number === undefined) return beat
    return { frame: { ...beat.frame, data: { ...data, sequence_number: next++ } } }
  })
}

/** The JSON of an event; empty for everything else. */
export const dataOf = (beat: Beat): JsonObject =>
  'frame' in beat && typeof beat.frame.data !== 'string' ? beat.frame.data : {}

const typeOf = (beat: Beat) => dataOf(beat).type

const frameOf = (type: string, fields: JsonObject): Frame => ({ event: type, data: { type, ...fields } })

/** Calls that were made by code, and the container in which that code goes on. */
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
