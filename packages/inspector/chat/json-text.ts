import { pretty } from '../format.ts'

const lineChars = 72

/** Words as they are, anything else as JSON: on one line where that is easy to read, else on many. */
export function asText(value: unknown): string {
  if (typeof value === 'string') return value
  const line = JSON.stringify(value)
  return line.length <= lineChars ? line : pretty(value)
}

/** What is wrong with what a person has typed for the input of a call; empty if nothing is. */
export function inputProblem(text: string): string {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = value instanceof Object && !Array.isArray(value)
    return isObject ? '' : 'This is not an object: { … }'
  } catch (error) {
    return `This is not JSON: ${(error as Error).message}`
  }
}
