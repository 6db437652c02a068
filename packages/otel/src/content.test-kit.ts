import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { isObject } from '../../millrace/src/protocol/index.ts'

// The rules of the JSON schemas in the conventions,
// https://github.com/open-telemetry/semantic-conventions-genai:
// docs/gen-ai/gen-ai-input-messages.json, gen-ai-output-messages.json,
// gen-ai-system-instructions.json and model/gen-ai/gen-ai-tool-definitions.json.

type Rule = (value: unknown) => boolean

const text: Rule = (value) => typeof value === 'string'
const anything: Rule = (value) => value !== undefined
const fields =
  (rules: Readonly<Record<string, Rule>>): Rule =>
  (value) =>
    isObject(value) && Object.entries(rules).every(([name, rule]) => rule(value[name]))
const listOf =
  (rule: Rule): Rule =>
  (value) =>
    Array.isArray(value) && value.every(rule)
const oneOf =
  (...known: readonly string[]): Rule =>
  (value) =>
    typeof value === 'string' && known.includes(value)

const typed = fields({ type: text })
const modality = oneOf('image', 'video', 'audio', 'document')
/** A part of a known type must match its rule; other parts may be anything. */
const parts: Readonly<Record<string, Rule>> = {
  text: fields({ content: text }),
  reasoning: fields({ content: text }),
  tool_call: fields({ name: text }),
  tool_call_response: fields({ response: anything }),
  server_tool_call: fields({ name: text, server_tool_call: typed }),
  server_tool_call_response: fields({ server_tool_call_response: typed }),
  blob: fields({ modality, content: text }),
  uri: fields({ modality, uri: (value) => typeof value === 'string' && !value.startsWith('data:') }),
  file: fields({ modality, file_id: text }),
}
const part: Rule = (value) => typed(value) && (parts[(value as { type: string }).type]?.(value) ?? true)
const role = oneOf('system', 'user', 'assistant', 'tool')

const rules: Readonly<Record<string, Rule>> = {
  'gen_ai.input.messages': listOf(fields({ role, parts: listOf(part) })),
  'gen_ai.output.messages': listOf(fields({ role, parts: listOf(part), finish_reason: text })),
  'gen_ai.system_instructions': listOf(fields({ type: oneOf('text'), content: text })),
  'gen_ai.tool.definitions': listOf(
    fields({ type: oneOf('function'), name: text, description: text, parameters: isObject }),
  ),
}

/** Parses the content of a span attribute. Throws if it does not follow the conventions. */
export function contentOf(span: ReadableSpan | undefined, attribute: string): unknown {
  if (!span) throw new Error('the span does not exist')
  const { name, attributes } = span
  const written = attributes[attribute]
  if (written === undefined) return undefined
  if (typeof written !== 'string') throw new Error(`${attribute} of '${name}' is not written as text`)
  const value: unknown = JSON.parse(written)
  if (!rules[attribute]?.(value))
    throw new Error(`${attribute} of '${name}' does not follow the conventions: ${written}`)
  return value
}

/** All content attributes of a span. */
export function wholeContentOf(span: ReadableSpan) {
  return {
    system: contentOf(span, 'gen_ai.system_instructions'),
    input: contentOf(span, 'gen_ai.input.messages'),
    output: contentOf(span, 'gen_ai.output.messages'),
    tools: contentOf(span, 'gen_ai.tool.definitions'),
  }
}
