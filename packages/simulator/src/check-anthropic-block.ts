import type { JsonObject } from 'millrace'
import type { IssuedTokens } from './issued-tokens.ts'
import { isJsonObject } from './json-object.ts'

interface BlockContext {
  readonly path: string
  readonly role: 'user' | 'assistant'
  /** The ids of tool calls so far; mutated. */
  readonly seen: Set<string>
  readonly issued: IssuedTokens
}

const userBlocks = ['text', 'image', 'document', 'search_result', 'tool_result', 'container_upload']

/** The problem with one content block of an Anthropic request, if any. */
export function blockProblem(block: JsonObject, context: BlockContext): string | undefined {
  const { path, role } = context
  const { type } = block
  if (typeof type !== 'string') return `${path}.type: Field required`
  if (role === 'user' && !userBlocks.includes(type))
    return `${path}: Input tag '${type}' found using 'type' is not allowed in \`user\` messages`
  if (role === 'assistant' && type === 'tool_result')
    return `${path}: \`tool_result\` blocks can only be in \`user\` messages`
  switch (type) {
    case 'text':
      return textProblem(block, path)
    case 'tool_use':
      return toolUseProblem(block, context)
    case 'tool_result':
      return toolResultProblem(block, path)
    case 'thinking':
      return thinkingProblem(block, context)
    case 'redacted_thinking':
      if (typeof block.data !== 'string') return `${path}.redacted_thinking.data: Field required`
      return context.issued.redacted(block.data)
        ? undefined
        : `${path}: Invalid \`data\` in \`redacted_thinking\` block`
    default:
      return undefined
  }
}

function textProblem({ text }: JsonObject, path: string): string | undefined {
  if (typeof text !== 'string') return `${path}.text.text: Field required`
  if (text === '') return 'messages: text content blocks must be non-empty'
  return text.trim() === '' ? 'messages: text content blocks must contain non-whitespace text' : undefined
}

function toolUseProblem({ id, name, input }: JsonObject, { path, seen }: BlockContext): string | undefined {
  if (typeof id !== 'string') return `${path}.tool_use.id: Field required`
  if (!/^[a-zA-Z0-9_-]+$/.test(id))
    return `${path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`
  if (typeof name !== 'string') return `${path}.tool_use.name: Field required`
  if (!/^[a-zA-Z0-9_-]{1,200}$/.test(name))
    return `${path}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,200}$'`
  if (input === undefined) return `${path}.tool_use.input: Field required`
  if (!isJsonObject(input)) return `${path}.tool_use.input: Input should be a valid dictionary`
  if (seen.has(id)) return `${path}: \`tool_use\` ids must be unique`
  seen.add(id)
  return undefined
}

function toolResultProblem({ tool_use_id: id, content }: JsonObject, path: string): string | undefined {
  if (typeof id !== 'string') return `${path}.tool_result.tool_use_id: Field required`
  if (!/^[a-zA-Z0-9_-]+$/.test(id))
    return `${path}.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'`
  const blocks = Array.isArray(content) ? content : []
  const empty = blocks.some((block) => isJsonObject(block) && block.type === 'text' && block.text === '')
  return empty ? 'messages: text content blocks must be non-empty' : undefined
}

function thinkingProblem(
  { thinking, signature }: JsonObject,
  { path, issued }: BlockContext,
): string | undefined {
  if (typeof thinking !== 'string') return `${path}.thinking.thinking: Field required`
  if (typeof signature !== 'string') return `${path}.thinking.signature: Field required`
  return issued.signed(thinking, signature)
    ? undefined
    : `${path}: Invalid \`signature\` in \`thinking\` block`
}
