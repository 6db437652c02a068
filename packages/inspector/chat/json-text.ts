import { pretty } from '../format.ts'

const lineChars = 72

/** Strings unchanged, anything else as JSON: on one line if it is short. */
export function asText(value: unknown): string {
  if (typeof value === 'string') return value
  const line = JSON.stringify(value)
  return line.length <= lineChars ? line : pretty(value)
}

/** The beginning of long text; all of it if little is left. */
export function beginningOf(
  text: string,
  { lines, chars }: { readonly lines: number; readonly chars: number },
) {
  const short = text.split('\n', lines).join('\n').slice(0, chars)
  // A button to show a few more characters is not worth it.
  return text.length - short.length > 80 ? short : text
}

/** Why the edited arguments of a call are invalid; empty if they are valid. */
export function inputProblem(text: string): string {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = value instanceof Object && !Array.isArray(value)
    return isObject ? '' : 'The arguments must be a JSON object: { … }'
  } catch (error) {
    return `Invalid JSON: ${(error as Error).message}`
  }
}

/** The value of JSON text, or the text itself. */
export function parsedOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
