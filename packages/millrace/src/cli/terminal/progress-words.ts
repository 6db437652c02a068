import { isObject } from '../../protocol/index.ts'

/** What a call reports, in words: its text; the last line of what a command prints; what a server of MCP says; else the JSON. */
export function progressWords(data: unknown): string {
  if (!isObject(data)) return wordsOf(data)
  const { output, message, progress, total } = data
  if (typeof output === 'string') return output.trimEnd().split('\n').at(-1) ?? ''
  if (typeof progress !== 'number') return wordsOf(data)
  const far = typeof total === 'number' ? `${progress} of ${total}` : String(progress)
  return typeof message === 'string' ? `${far}: ${message}` : far
}

export function wordsOf(data: unknown): string {
  return typeof data === 'string' ? data : (JSON.stringify(data) ?? '')
}
