import type { SseFraming } from './faults.ts'
import type { Frame } from './wire.ts'

const newlines = { crlf: '\r\n', cr: '\r', lf: '\n' }

/** Encodes frames for the wire, one string each. */
export function writeFrames(frames: readonly Frame[], framing: SseFraming = {}): string[] {
  const { newline = 'lf', bom = false, finalBlank = true } = framing
  return frames.map((frame, index) => {
    const lines = [...linesOf(frame, index, framing), '', '']
    const text = (bom && index === 0 ? '\uFEFF' : '') + lines.join(newlines[newline])
    return finalBlank || index < frames.length - 1 ? text : text.replace(/[\r\n]+$/, '')
  })
}

function linesOf(
  { event, data }: Frame,
  index: number,
  { comments, dataLines, fields }: SseFraming,
): string[] {
  // JSON allows line breaks wherever it can be indented.
  const text = typeof data === 'string' ? data : JSON.stringify(data, null, dataLines ? 1 : undefined)
  return [
    ...(comments ? [': a comment', ':'] : []),
    ...(event === undefined ? [] : [`event: ${event}`]),
    ...(fields ? [`id: ${index}`, 'retry: 3000', 'color: blue', 'field-without-colon'] : []),
    ...text.split(/\r\n|\r|\n/).map((line) => `data: ${line}`),
  ]
}
