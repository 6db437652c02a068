import type { JsonObject, JsonValue } from 'millrace'
import { blockProblem } from './check-anthropic-block.ts'
import type { Failure } from './failures.ts'
import type { IssuedTokens } from './issued-tokens.ts'
import { isJsonObject } from './json-object.ts'
import { openObjectProblem } from './strict-schema.ts'

const badRequest = (message: string): Failure => ({ status: 400, message })

/** The error of Anthropic Messages for this request, if any. */
export function anthropicError(body: JsonObject, issued: IssuedTokens): Failure | undefined {
  const problem =
    ['model', 'messages', 'max_tokens'].map((name) => required(body, name)).find(Boolean) ??
    settingsProblem(body) ??
    toolsProblem(body) ??
    formatProblem(body) ??
    messagesProblem(body.messages, issued) ??
    thinkingProblem(body, issued)
  return problem === undefined ? undefined : badRequest(problem)
}

const required = (body: JsonObject, name: string) =>
  body[name] === undefined ? `${name}: Field required` : undefined

function settingsProblem(body: JsonObject): string | undefined {
  const { max_tokens: limit, temperature, thinking, tool_choice: choice, container } = body
  if (!Number.isInteger(limit)) return 'max_tokens: Input should be a valid integer'
  if (Number(limit) < 1) return 'max_tokens: Input should be greater than or equal to 1'
  const containerId = isJsonObject(container) ? (container.id ?? null) : (container ?? null)
  if (containerId !== null && typeof containerId !== 'string')
    return 'container: Input should be a valid string'
  if (!isJsonObject(thinking) || (thinking.type !== 'enabled' && thinking.type !== 'adaptive'))
    return undefined
  if (isJsonObject(choice) && (choice.type === 'any' || choice.type === 'tool'))
    return 'Thinking may not be enabled when tool_choice forces tool use.'
  if (temperature !== undefined && temperature !== 1)
    return '`temperature` may only be set to 1 when thinking is enabled. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#important-considerations-when-using-extended-thinking'
  if (thinking.type === 'adaptive') return undefined
  const { budget_tokens: budget } = thinking
  if (budget === undefined) return 'thinking.enabled.budget_tokens: Field required'
  if (Number(budget) < 1024)
    return 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024'
  return Number(budget) < Number(limit)
    ? undefined
    : '`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size'
}

function toolsProblem({ tools = [], tool_choice: choice }: JsonObject): string | undefined {
  if (!Array.isArray(tools)) return 'tools: Input should be a valid list'
  const names = new Set<string>()
  for (const [index, tool] of tools.entries()) {
    const { name, type = 'custom', input_schema: schema } = isJsonObject(tool) ? tool : {}
    if (typeof name !== 'string') return `tools.${index}.${type}.name: Field required`
    if (type === 'custom' && !/^[a-zA-Z0-9_-]{1,128}$/.test(name))
      return `tools.${index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`
    if (type === 'custom' && !isJsonObject(schema))
      return `tools.${index}.custom.input_schema: Field required`
    if (type === 'custom' && isJsonObject(schema) && schema.type !== 'object')
      return `tools.${index}.custom.input_schema.type: Field required`
    const open = isJsonObject(tool) && tool.strict === true ? openObjectProblem(schema) : undefined
    if (open) return `tools.${index}.custom: ${open}`
    if (names.has(name)) return 'tools: Tool names must be unique.'
    names.add(name)
  }
  if (!isJsonObject(choice)) return undefined
  if (choice.type === 'tool' && !names.has(String(choice.name)))
    return `Tool '${choice.name}' not found in provided tools`
  return names.size === 0
    ? 'tool_choice: `tool_choice` may only be specified while providing `tools`.'
    : undefined
}

function formatProblem({ output_config: config }: JsonObject): string | undefined {
  const { format } = isJsonObject(config) ? config : {}
  const problem = isJsonObject(format) ? openObjectProblem(format.schema) : undefined
  return problem && `output_config.format.schema: ${problem}`
}

function messagesProblem(messages: JsonValue | undefined, issued: IssuedTokens): string | undefined {
  if (!Array.isArray(messages)) return 'messages: Input should be a valid list'
  if (messages.length === 0) return 'messages: at least one message is required'
  const seen = new Set<string>()
  for (const [index, message] of messages.entries()) {
    const { role, content } = isJsonObject(message) ? message : {}
    if (role === 'system')
      return 'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.'
    if (role !== 'user' && role !== 'assistant')
      return `messages.${index}.role: Input should be 'user' or 'assistant'`
    if (index === 0 && role !== 'user') return 'messages: first message must use the "user" role'
    if (content === undefined) return `messages.${index}.content: Field required`
    const isLast = index === messages.length - 1
    if (content === '' || (Array.isArray(content) && content.length === 0)) {
      if (isLast && role === 'assistant') continue
      return `messages.${index}: all messages must have non-empty content except for the optional final assistant message`
    }
    for (const [at, block] of blocksOf(content).entries()) {
      const problem = blockProblem(block, { path: `messages.${index}.content.${at}`, role, seen, issued })
      if (problem) return problem
    }
  }
  return pairingProblem(messages)
}

/**
 * Consecutive messages of one role count as one. Indexes in error messages are those of the
 * request.
 */
function pairingProblem(messages: readonly JsonValue[]): string | undefined {
  let due: string[] = []
  let callIndex = 0
  const unanswered = (ids: readonly string[]) =>
    `messages.${callIndex}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`

  for (let index = 0; index < messages.length; ) {
    const role = roleAt(messages, index)
    const turn: { readonly block: JsonObject; readonly path: string }[] = []
    const first = index
    for (; index < messages.length && roleAt(messages, index) === role; index++) {
      const { content } = messages[index] as JsonObject
      const blocks = blocksOf(content)
      for (const [at, block] of blocks.entries())
        turn.push({ block, path: `messages.${index}.content.${at}` })
    }
    if (role === 'assistant') {
      due = turn.filter(({ block }) => block.type === 'tool_use').map(({ block }) => String(block.id))
      callIndex = first
      continue
    }
    const results = turn.filter(({ block }) => block.type === 'tool_result')
    for (const { block, path } of results) {
      if (due.includes(String(block.tool_use_id))) continue
      return `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${block.tool_use_id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`
    }
    const ids = results.map(({ block }) => block.tool_use_id)
    const twice = ids.find((id, at) => ids.indexOf(id) !== at)
    if (twice !== undefined)
      return `messages.${first}.content: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${twice}`
    const missing = due.filter((id) => !ids.includes(id))
    if (missing.length > 0) return unanswered(missing)
    due = []
  }
  return due.length > 0 ? unanswered(due) : undefined
}

/**
 * With a thinking budget, a turn whose tool calls followed thinking must start with that thinking.
 * With `adaptive` thinking the model may not have thought at all, so nothing is required.
 */
function thinkingProblem({ messages, thinking }: JsonObject, issued: IssuedTokens): string | undefined {
  if (!isJsonObject(thinking) || thinking.type !== 'enabled' || !Array.isArray(messages)) return undefined
  const index = messages.findLastIndex((message) => isJsonObject(message) && message.role === 'assistant')
  const last: JsonValue | undefined = messages[index]
  const blocks = isJsonObject(last) ? blocksOf(last.content) : []
  const isThinking = (block?: JsonObject) => block?.type === 'thinking' || block?.type === 'redacted_thinking'
  const wasReasoned = blocks.some(
    ({ type, id }) => type === 'tool_use' && issued.reasoningBefore(String(id)) !== undefined,
  )
  if (!wasReasoned || isThinking(blocks[0])) return undefined
  return `messages.${index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${blocks[0]?.type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable \`thinking\`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking`
}

function roleAt(messages: readonly JsonValue[], index: number): JsonValue | undefined {
  const message = messages[index]
  return isJsonObject(message) ? message.role : undefined
}

function blocksOf(content: JsonValue | undefined): JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return Array.isArray(content) ? content.filter((block): block is JsonObject => isJsonObject(block)) : []
}
