import type { JsonObject, ModelSettings, RunRequest, ToolSpec } from '../../protocol/index.ts'
import { isObject, kindOf, nameOf } from '../../protocol/index.ts'
import { rejected } from './errors.ts'

// What requests of Chat Completions and of Responses have in common.

export type Fields = Readonly<Record<string, unknown>>

/** Where the name of a function is: Chat Completions has an object around it. */
export type Nesting = '.function' | ''

function nested(tool: Fields, nesting: Nesting): Fields {
  if (nesting === '') return tool
  return isObject(tool.function) ? tool.function : {}
}

export function readTools(tools: unknown, nesting: Nesting): readonly ToolSpec[] {
  if (tools === undefined || tools === null) return []
  if (!Array.isArray(tools)) throw rejected('tools', `'tools' must be an array, not ${kindOf(tools)}.`)
  return tools.flatMap((tool, index) => {
    // OpenAI would run the others itself. Codex sends `web_search` and `namespace` with each request.
    if (!isObject(tool) || tool.type !== 'function') return []
    const path = `tools[${index}]${nesting}`
    const { name, description, parameters, strict } = nested(tool, nesting)
    if (typeof name !== 'string' || !/^[\w-]{1,64}$/.test(name))
      throw rejected(`${path}.name`, `'${path}.name' must be 1 to 64 letters, digits, _ or -.`)
    if (!isObject(parameters ?? {}))
      throw rejected(`${path}.parameters`, `'${path}.parameters' must be a JSON schema.`)
    return {
      name,
      description: (typeof description === 'string' && description.trim()) || name,
      inputSchema: (parameters ?? { type: 'object', properties: {} }) as JsonObject,
      ...(typeof strict === 'boolean' && { strict }),
    }
  })
}

/** Reads `tool_choice`, which may also restrict the tools. */
export function readToolChoice(
  choice: unknown,
  tools: readonly ToolSpec[],
  nesting: Nesting,
): Pick<RunRequest, 'tools' | 'toolChoice'> {
  const some = tools.length > 0 && { tools }
  if (choice === undefined || choice === null) return { ...some }
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { ...some, toolChoice: choice }
  if (!isObject(choice) || typeof choice.type !== 'string')
    throw rejected(
      'tool_choice',
      `'tool_choice' must be 'auto', 'none', 'required' or an object, not ${nameOf(choice)}.`,
    )
  const nameIn = (tool: unknown) => (isObject(tool) ? nested(tool, nesting).name : undefined)
  const name = nameIn(choice)
  if (choice.type === 'function' && typeof name === 'string') return { ...some, toolChoice: { name } }
  const allowed = nesting === '' ? choice : choice.allowed_tools
  if (choice.type === 'allowed_tools' && isObject(allowed) && Array.isArray(allowed.tools)) {
    const names = new Set(allowed.tools.map(nameIn))
    const toolChoice = allowed.mode === 'required' ? 'required' : 'auto'
    return { tools: tools.filter((tool) => names.has(tool.name)), toolChoice }
  }
  if (choice.type === 'function' || choice.type === 'allowed_tools')
    throw rejected(
      'tool_choice',
      `'tool_choice' must name ${choice.type === 'function' ? 'a function' : 'tools'}.`,
    )
  // A tool that OpenAI runs, which is not among ours.
  return { ...some }
}

/** The settings that both have. */
export function readSharedSettings(body: Fields): ModelSettings {
  const { parallel_tool_calls: parallelToolCalls } = body
  return {
    temperature: readNumber(body, 'temperature'),
    topP: readNumber(body, 'top_p'),
    parallelToolCalls: typeof parallelToolCalls === 'boolean' ? parallelToolCalls : undefined,
  }
}

/** As a field of a request, if there are any. */
export function settingsField(settings: ModelSettings): Pick<RunRequest, 'settings'> {
  const given = Object.entries(settings).filter(([, value]) => value !== undefined)
  return given.length > 0 ? { settings: Object.fromEntries(given) } : {}
}

export function readNumber(body: Fields, name: string): number | undefined {
  const value = body[name] ?? undefined
  if (value !== undefined && typeof value !== 'number')
    throw rejected(name, `'${name}' must be a number, not ${kindOf(value)}.`)
  return value
}

/** Clients also send levels that only some models have, such as `xhigh`. */
export function readEffort(effort: unknown): ModelSettings['reasoning'] {
  if (effort === 'none' || effort === 'minimal' || effort === 'low' || effort === 'medium') return effort
  return typeof effort === 'string' ? 'high' : undefined
}
