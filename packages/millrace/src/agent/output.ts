import { messageOf, partialJson } from '../protocol/index.ts'
import type { CompiledSchema } from '../tools/index.ts'

/** The parsed answer, or a description of the problem for the model. */
export type ParsedAnswer =
  | { readonly value: unknown; readonly problem?: undefined }
  | { readonly problem: string }

export async function readAnswer(text: string, schema: CompiledSchema): Promise<ParsedAnswer> {
  const parsed = parseAnswer(text)
  if (parsed.problem !== undefined) return parsed
  const checked = await schema.check(parsed.value)
  if (!checked.issues) return { value: checked.value }
  return {
    problem: `The answer does not match its schema:\n${checked.issues.map((issue) => `- ${issue}`).join('\n')}`,
  }
}

/**
 * The JSON in an answer. Models without native structured output often add a code block or a
 * sentence around it.
 */
function parseAnswer(text: string): ParsedAnswer {
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    const start = text.search(/[[{]/)
    const end = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']'))
    try {
      if (start >= 0 && end > start) return { value: JSON.parse(text.slice(start, end + 1)) }
    } catch {
      // The first error is more useful: it is about the whole text.
    }
    return { problem: `The answer is not valid JSON: ${messageOf(error)}` }
  }
}

/**
 * Parses an answer while it streams. JSON starts at the first bracket; anything before it is
 * skipped.
 */
export function partialAnswer(): { push(delta: string): void; readonly value: unknown } {
  const json = partialJson()
  let started = false
  const answer = {
    value: undefined as unknown,
    push(delta: string) {
      const start = started ? 0 : delta.search(/[[{]/)
      if (start < 0) return
      started = true
      json.push(start > 0 ? delta.slice(start) : delta)
      answer.value = json.value
    },
  }
  return answer
}
