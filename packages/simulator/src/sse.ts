import type { SseDress } from './faults.ts'
import type { Frame } from './wire.ts'

const newlines = { crlf: '\r\n', cr: '\r', lf: '\n' }

/** Frames as they stand on the wire, one text for each. */
export function writeFrames(frames: readonly Frame[], dress: SseDress = {}): string[] {
  const { newline = 'lf', bom = false, finalBlank = true } = dress
  return frames.map((frame, index) => {
    const lines = [...linesOf(frame, index, dress), '', '']
    const text = (bom && index === 0 ? '\uFEFF' : '') + lines.join(newlines[newline])
    return finalBlank || index < frames.length - 1 ? text : text.replace(/[\r\n]+$/, '')
  })
}

function linesOf({ event, data }: Frame, index: number, { comments, dataLines, fields }: SseDress): string[] {
  // Line ends are white space to JSON wherever it may be indented.
  const text = typeof data === 'string' ? data : JSON.stringify(data, null, dataLines ? 1 : undefined)
  return [
    ...(comments ? [': a comment', ':'] : []),
    ...(event === undefined ? [] : [`event: ${event}`]),
    ...(fields ? [`id: ${index}`, 'retry: 3000', 'colour: blue', 'field-without-colon'] : []),
    ...text.split(/\r\n|\r|\n/).map((line) => `data: ${line}`),
  ]
}
