import { partialJson } from '../protocol/index.ts'
import type { CompiledSchema } from '../tools/index.ts'

/** The answer as a value of its schema, or what is wrong with it in words for the model. */
export type Answer = { readonly value: unknown; readonly problem?: undefined } | { readonly problem: string }

export async function readAnswer(text: string, schema: CompiledSchema): Promise<Answer> {
  let value: unknown
  try {
    value = JSON.parse(unfence(text))
  } catch (error) {
    return { problem: `The answer is not valid JSON: ${(error as Error).message}` }
  }
  const checked = await schema.check(value)
  if (!checked.issues) return { value: checked.value }
  return {
    problem: `The answer does not fit its schema:\n${checked.issues.map((issue) => `- ${issue}`).join('\n')}`,
  }
}

/** Models without native structured output like to put JSON into a code block. */
function unfence(text: string): string {
  return /^\s*```(?:json)?\s*\n([\s\S]*?)\n?\s*```\s*$/.exec(text)?.[1] ?? text
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
