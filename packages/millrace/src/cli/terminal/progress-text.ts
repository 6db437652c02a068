import { isObject } from '../../protocol/index.ts'

/** The progress of a tool call as text: the last line of a command's output, MCP progress, or JSON. */
export function progressText(data: unknown): string {
  if (!isObject(data)) return asText(data)
  const { output, message, progress, total } = data
  if (typeof output === 'string') return output.trimEnd().split('\n').at(-1) ?? ''
  if (typeof progress !== 'number') return asText(data)
  const position = typeof total === 'number' ? `${progress} of ${total}` : String(progress)
  return typeof message === 'string' ? `${position}: ${message}` : position
}

export function asText(data: unknown): string {
  return typeof data === 'string' ? data : (JSON.stringify(data) ?? '')
}
