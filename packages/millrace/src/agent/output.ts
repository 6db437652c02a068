import { messageOf, partialJson } from '../protocol/index.ts'
import type { CompiledSchema } from '../tools/index.ts'

/** The answer as a value of its schema, or what is wrong with it in words for the model. */
export type Answer = { readonly value: unknown; readonly problem?: undefined } | { readonly problem: string }

export async function readAnswer(text: string, schema: CompiledSchema): Promise<Answer> {
  const read = parseAnswer(text)
  if (read.problem !== undefined) return read
  const checked = await schema.check(read.value)
  if (!checked.issues) return { value: checked.value }
  return {
    problem: `The answer does not fit its schema:\n${checked.issues.map((issue) => `- ${issue}`).join('\n')}`,
  }
}

/** The JSON in an answer. Models without native structured output like to put it into a code block, or a sentence before it. */
function parseAnswer(text: string): Answer {
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    const start = text.search(/[[{]/)
    const end = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']'))
    try {
      if (start >= 0 && end > start) return { value: JSON.parse(text.slice(start, end + 1)) }
    } catch {
      // What was wrong with the whole of it says more.
    }
    return { problem: `The answer is not valid JSON: ${messageOf(error)}` }
  }
}

/** Reads an answer while it arrives; JSON begins at the first bracket, whatever a model puts before it. */
export function partialAnswer(): { push(delta: string): void; readonly value: unknown } {
  const json = partialJson()
  let begun = false
  return {
    push(delta) {
      const start = begun ? 0 : delta.search(/[[{]/)
      if (start < 0) return
      begun = true
      json.push(start > 0 ? delta.slice(start) : delta)
    },
    get value() {
      return json.value
    },
  }
}
