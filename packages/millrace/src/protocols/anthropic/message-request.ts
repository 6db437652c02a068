import type { JsonObject, Message, ModelSettings, RunRequest, ToolSpec } from '../../protocol/index.ts'
import { isJsonObject, isObject, kindOf, nameOf } from '../../protocol/index.ts'
import type { Fields } from './message-content.ts'
import { readAssistant, readBlocks, readText, readUser, rejected } from './message-content.ts'

/** A request for a message. */
export interface MessageRequest {
  /** Names the agent. Not checked yet. */
  readonly model: unknown
  readonly isStream: boolean
  /** The conversation, or only what is new if it continues a message thread. */
  readonly messages: readonly Message[]
  readonly request: RunRequest
  /** Tools that a system message adds or removes in the middle of the conversation. */
  readonly toolChanges: readonly ToolChange[]
  /** The names of the tools whose input is streamed as the model writes it. */
  readonly eagerTools: ReadonlySet<string>
  /** The id of the message that it continues, in a message thread. */
  readonly previousMessageId: string | undefined
}

export type ToolChange =
  | { readonly add: ToolSpec }
  | { readonly restore: string }
  | { readonly remove: string }

/** Reads the body of a request. Throws 400 with the name of the field that is wrong. */
export function readMessageRequest(body: unknown): MessageRequest {
  if (!isObject(body)) throw rejected('', `The body must be a JSON object, not ${kindOf(body)}`)
  const previousMessageId = readThread(body.thread)
  const { messages, system, toolChanges } = readMessages(body.messages, previousMessageId !== undefined)
  const texts = body.system == null ? [] : readBlocks(body.system, 'system').map((one) => readText(...one))
  const prompt = [...texts, ...system].filter((text) => text.trim()).join('\n\n')
  const tools = changeTools(readTools(body.tools), toolChanges)
  const output = readFormat(body)
  const settings = readSettings(body)
  return {
    model: body.model,
    isStream: body.stream === true,
    messages,
    request: {
      ...(tools.length > 0 && { tools }),
      ...(prompt && { system: prompt }),
      ...(Object.keys(settings).length > 0 && { settings }),
      ...readToolChoice(body.tool_choice),
      ...(output && { output }),
    },
    toolChanges,
    eagerTools: new Set(readEager(body.tools)),
    previousMessageId,
  }
}

/** Applies the changes of system messages to the tools that a conversation started with. */
export function changeTools(tools: readonly ToolSpec[], changes: readonly ToolChange[]): readonly ToolSpec[] {
  if (changes.length === 0) return tools
  const known = new Map(tools.map((tool) => [tool.name, tool]))
  const offered = new Set(known.keys())
  for (const change of changes)
    if ('add' in change) {
      known.set(change.add.name, change.add)
      offered.add(change.add.name)
    } else if ('restore' in change) offered.add(change.restore)
    else offered.delete(change.remove)
  return [...known.values()].filter(({ name }) => offered.has(name))
}

function readThread(thread: unknown): string | undefined {
  if (thread == null) return undefined
  const { type, previous_message_id: id } = isObject(thread) ? thread : {}
  if (type === 'create') return undefined
  if (type === 'continue' && typeof id === 'string' && id) return id
  throw rejected('thread', 'must be { type: "create" } or { type: "continue", previous_message_id }')
}

function readMessages(list: unknown, isContinued: boolean) {
  if (!Array.isArray(list) || list.length === 0)
    throw rejected('messages', 'must be an array with at least one message')
  const messages: Message[] = []
  const system: string[] = []
  const toolChanges: ToolChange[] = []
  const names = new Map<string, string>()

  function toolName(callId: string, path: string): string {
    const name = names.get(callId)
    if (name === undefined && !isContinued)
      throw rejected(
        path,
        `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${callId}. Each \`tool_result\` block must have a \`tool_use\` block in an earlier message`,
      )
    return name ?? ''
  }

  for (const [index, message] of list.entries()) {
    const path = `messages.${index}`
    if (!isObject(message)) throw rejected(path, `must be an object, not ${kindOf(message)}`)
    const { role, content } = message
    const at = `${path}.content`
    if (role === 'user') messages.push(...readUser(content, at, toolName))
    else if (role === 'assistant') {
      const parts = readAssistant(content, at)
      for (const part of parts) if (part.type === 'tool-call') names.set(part.callId, part.name)
      if (parts.length > 0) messages.push({ role, content: parts })
    } else if (role === 'system') {
      // Claude Code sends them after the user's message.
      for (const [block, place] of readBlocks(content, at))
        if (block.type === 'text') system.push(readText(block, place))
        else toolChanges.push(...readToolChange(block, place))
    } else throw rejected(`${path}.role`, `must be 'user', 'assistant' or 'system', not ${nameOf(role)}`)
  }
  const last = messages.at(-1)?.role
  if (last !== 'user' && last !== 'tool')
    throw rejected('messages', 'the conversation must end with a user message: prefill is not supported')
  return { messages, system, toolChanges }
}

/** What `addTools()` and `removeTools()` of the SDK's tool runner send. */
function readToolChange({ type, tool }: Fields, path: string): ToolChange[] {
  if (!isObject(tool)) return []
  const { type: kind, name, definition } = tool
  if (type === 'tool_addition' && kind === 'tool_definition')
    return readTool(definition, `${path}.tool.definition`).map((add) => ({ add }))
  if (kind !== 'tool_reference' || typeof name !== 'string') return []
  return type === 'tool_addition' ? [{ restore: name }] : type === 'tool_removal' ? [{ remove: name }] : []
}

function readTools(tools: unknown): ToolSpec[] {
  if (tools == null) return []
  if (!Array.isArray(tools)) throw rejected('tools', `must be an array, not ${kindOf(tools)}`)
  return tools.flatMap((tool, index) => readTool(tool, `tools.${index}`))
}

function readEager(tools: unknown): string[] {
  const isEager = (tool: unknown) => isObject(tool) && tool.eager_input_streaming === true
  return Array.isArray(tools) ? tools.filter(isEager).map(({ name }) => name) : []
}

/** Tools that Anthropic defines (`web_search_20250305`, `mcp_toolset`) have no schema. They are ignored. */
function readTool(tool: unknown, path: string): ToolSpec[] {
  if (!isObject(tool)) throw rejected(path, `must be an object, not ${kindOf(tool)}`)
  const { type, name, description, input_schema: schema, strict } = tool
  if (type != null && type !== 'custom') return []
  if (typeof name !== 'string' || !name) throw rejected(`${path}.name`, `must be text, not ${kindOf(name)}`)
  if (!isJsonObject(schema as never))
    throw rejected(`${path}.input_schema`, `must be a JSON schema, not ${kindOf(schema)}`)
  return [
    {
      name,
      // Optional for Anthropic, but not for the models of an agent.
      description: typeof description === 'string' && description.trim() ? description : name,
      inputSchema: schema as JsonObject,
      ...(typeof strict === 'boolean' && { strict }),
    },
  ]
}

function readToolChoice(choice: unknown): Pick<RunRequest, 'toolChoice'> {
  if (choice == null) return {}
  const { type, name } = isObject(choice) ? choice : {}
  if (type === 'auto' || type === 'none') return { toolChoice: type }
  if (type === 'any') return { toolChoice: 'required' }
  if (type === 'tool' && typeof name === 'string') return { toolChoice: { name } }
  throw rejected('tool_choice', 'must have the type "auto", "any", "none", or "tool" with a name')
}

function readSettings(body: Fields): ModelSettings {
  const { stop_sequences: stop, tool_choice: choice, max_tokens: limit } = body
  if (stop != null && !(Array.isArray(stop) && stop.every((text) => typeof text === 'string')))
    throw rejected('stop_sequences', 'must be an array of strings')
  if (limit != null && !(Number.isInteger(limit) && Number(limit) > 0))
    throw rejected('max_tokens', `must be a whole number of at least 1, not ${nameOf(limit)}`)
  const settings: ModelSettings = {
    maxOutputTokens: readNumber(body, 'max_tokens'),
    temperature: readNumber(body, 'temperature'),
    topP: readNumber(body, 'top_p'),
    stop: Array.isArray(stop) && stop.length > 0 ? stop : undefined,
    reasoning: readReasoning(body),
    parallelToolCalls: isObject(choice) && choice.disable_parallel_tool_use === true ? false : undefined,
  }
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
}

function readNumber(body: Fields, name: string): number | undefined {
  const value = body[name] ?? undefined
  if (value !== undefined && typeof value !== 'number')
    throw rejected(name, `must be a number, not ${kindOf(value)}`)
  return value
}

/** The thinking budgets up to which a level is meant, as our own requests to Anthropic set them. */
const budgets = { minimal: 1024, low: 4096, medium: 12_000 } as const

function readReasoning({ thinking, output_config: config }: Fields): ModelSettings['reasoning'] {
  const { type, budget_tokens: budget } = isObject(thinking) ? thinking : {}
  if (type === 'disabled') return 'none'
  const { effort } = isObject(config) ? config : {}
  if (effort === 'low' || effort === 'medium') return effort
  // Also `xhigh` and `max`.
  if (typeof effort === 'string') return 'high'
  if (type === undefined) return undefined
  const levels = Object.entries(budgets) as [keyof typeof budgets, number][]
  const level = typeof budget === 'number' ? levels.find(([, limit]) => budget <= limit) : undefined
  // Anthropic's default effort for adaptive thinking is high.
  return level ? level[0] : 'high'
}

function readFormat({ output_config: config, output_format: beta }: Fields): JsonObject | undefined {
  const [path, format] =
    beta != null
      ? ['output_format', beta]
      : ['output_config.format', isObject(config) ? config.format : undefined]
  if (format == null) return undefined
  const { type, schema } = isObject(format) ? format : {}
  if (type === 'json_schema' && isJsonObject(schema as never)) return schema as JsonObject
  throw rejected(String(path), 'must be { type: "json_schema", schema }')
}
