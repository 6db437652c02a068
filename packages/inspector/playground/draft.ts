import type { AgentDetails, CreateThreadOptions } from 'millrace/client'
import type { Message, RoundInput } from 'millrace/view'
import { pretty, size } from '../format.ts'

type Role = Message['role']
type Request = NonNullable<CreateThreadOptions['request']>
type Settings = NonNullable<Request['settings']>

/** A message as it is edited. */
export interface DraftMessage {
  /** Unique in the draft, and kept when the message is moved. */
  readonly id: number
  readonly role: Role
  /** Whether `text` is the content as JSON; for the result of a tool, all fields but the role. */
  readonly isJson: boolean
  readonly text: string
  /** Long data, such as an image, and the words that stand for it in the text. */
  readonly data?: ReadonlyMap<string, string>
}

/** What the next attempt sends, as the user has typed it. */
export interface Draft {
  readonly system: string
  readonly messages: readonly DraftMessage[]
  /** The tools that are offered. */
  readonly tools: readonly string[]
  /** Empty: the default of the agent. */
  readonly model: string
  readonly temperature: string
  readonly maxOutputTokens: string
  /** Empty: as the agent has it. */
  readonly reasoning: string
  /** The other settings, as JSON. */
  readonly other: string
}

/** The fields with problems: `message 3`, `messages`, `temperature`, `other`, … */
export type Problems = ReadonlyMap<string, string>

export const roles: readonly Role[] = ['user', 'assistant', 'tool', 'system']
export const reasoningLevels = ['none', 'minimal', 'low', 'medium', 'high']

let lastId = 0

function draftMessage(message: Message): DraftMessage {
  const { role, content } = message
  const isText = typeof content === 'string' || (role !== 'tool' && content.every(isPlainText))
  if (isText) return { id: ++lastId, role, isJson: false, text: plainText(content) }
  const { role: _, ...rest } = message
  const data = new Map<string, string>()
  const short = (_: string, value: unknown) => {
    if (typeof value !== 'string' || !longData.test(value)) return value
    const words = `[data ${data.size + 1}, ${size(value.length)}]`
    data.set(words, value)
    return words
  }
  const text = JSON.stringify(role === 'tool' ? rest : content, short, 2)
  return { id: ++lastId, role, isJson: true, text, data }
}

/** Base64, a data URL or a signature: too long to be edited, and slow in a text area. */
const longData = /^[\w+/=:;,.-]{500,}$/

type Part = { readonly type: string; readonly text?: string; readonly opaque?: unknown }

/** A text that is sent back to a provider with data of its own is not plain. */
const isPlainText = ({ type, opaque }: Part) => type === 'text' && opaque === undefined
const plainText = (content: string | readonly Part[]) =>
  typeof content === 'string' ? content : content.map(({ text }) => text).join('')

/** A new message of a role. */
export function emptyMessage(role: Role): DraftMessage {
  if (role !== 'tool') return { id: ++lastId, role, isJson: false, text: '' }
  return draftMessage({ role, callId: 'call_1', name: '', content: [{ type: 'text', text: '' }] })
}

/** The same text in another role, as far as that is possible. */
export function withRole(message: DraftMessage, role: Role): DraftMessage {
  const isPlain = !message.isJson && role !== 'tool'
  return isPlain ? { ...message, role } : { ...emptyMessage(role), id: message.id }
}

/** What the model read in a round. `details` is undefined for users who may not inspect. */
export function draftOf({ messages, request = {} }: RoundInput, details: AgentDetails | undefined): Draft {
  const { temperature, maxOutputTokens, reasoning, ...other } = request.settings ?? {}
  const system = [request.replace?.system ?? details?.system, request.system]
  return {
    system: system.filter(Boolean).join('\n\n'),
    messages: messages.map(draftMessage),
    tools: request.replace?.tools ?? details?.tools.map(({ name }) => name) ?? [],
    model: request.model ?? '',
    temperature: textOf(temperature),
    maxOutputTokens: textOf(maxOutputTokens),
    reasoning: reasoning ?? '',
    other: Object.keys(other).length > 0 ? pretty(other) : '',
  }
}

const textOf = (value: number | undefined) => (value === undefined ? '' : `${value}`)

/** What is sent for a draft, or what has to be corrected first. */
export function readDraft(
  draft: Draft,
  { request: original = {} }: RoundInput,
  details: AgentDetails | undefined,
): { readonly options: Pick<CreateThreadOptions, 'messages' | 'request'> } | { readonly problems: Problems } {
  const problems = new Map<string, string>()
  const messages = draft.messages.map((message) => {
    const read = readMessage(message)
    if (typeof read !== 'string') return read
    problems.set(`message ${message.id}`, read)
    return undefined
  })
  const last = draft.messages.at(-1)?.role
  if (last !== 'user' && last !== 'tool')
    problems.set('messages', 'The last message must be from the user, or the result of a tool.')
  const settings = readSettings(draft, problems)
  if (problems.size > 0) return { problems }

  const { system: _, replace: __, settings: ___, model: ____, ...rest } = original
  const replace = details && replacements(draft, details)
  return {
    options: {
      messages: messages as Message[],
      request: {
        ...rest,
        ...(draft.model && { model: draft.model }),
        ...(Object.keys(settings).length > 0 && { settings }),
        // Without the details, the prompt cannot be replaced, and what was added to it is kept.
        ...(replace
          ? Object.keys(replace).length > 0 && { replace }
          : original.system && { system: original.system }),
      },
    },
  }
}

/** Only what differs from the agent. */
function replacements({ system, tools }: Draft, details: AgentDetails): NonNullable<Request['replace']> {
  const isSame = details.tools.every(({ name }) => tools.includes(name))
  return {
    ...(system !== (details.system ?? '') && { system }),
    ...(!isSame && { tools }),
  }
}

function readMessage({ role, isJson, text, data }: DraftMessage): Message | string {
  if (!isJson) {
    const content = role === 'assistant' ? [{ type: 'text', text }] : text
    return text.trim() === '' ? 'Write a text, or remove the message.' : ({ role, content } as Message)
  }
  const value = parseJson(text, (one) => data?.get(one as string) ?? one)
  if (value instanceof Error) return `This is not valid JSON: ${value.message}`
  if (role !== 'tool')
    return Array.isArray(value)
      ? ({ role, content: value } as Message)
      : 'The content must be an array of parts, such as [{"type": "text", "text": "…"}].'
  return isObject(value)
    ? ({ ...value, role } as unknown as Message)
    : 'A result must be an object with callId, name and content.'
}

function readSettings(draft: Draft, problems: Map<string, string>): Settings {
  const temperature = readNumber(draft.temperature)
  const maxOutputTokens = readNumber(draft.maxOutputTokens)
  if (Number.isNaN(temperature)) problems.set('temperature', 'The temperature must be a number.')
  if (maxOutputTokens !== undefined && !(Number.isInteger(maxOutputTokens) && maxOutputTokens > 0))
    problems.set('maxOutputTokens', 'The number of tokens must be a whole number above 0.')
  const other = draft.other.trim() ? parseJson(draft.other) : {}
  if (other instanceof Error) problems.set('other', `This is not valid JSON: ${other.message}`)
  else if (!isObject(other)) problems.set('other', 'The settings must be an object, such as {"topP": 0.9}.')
  return {
    ...(isObject(other) && other),
    ...(temperature !== undefined && { temperature }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(draft.reasoning && { reasoning: draft.reasoning as NonNullable<Settings['reasoning']> }),
  }
}

const readNumber = (text: string) => (text.trim() === '' ? undefined : Number(text))

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Error)

function parseJson(text: string, revive = (value: unknown) => value): unknown {
  try {
    return JSON.parse(text, (_, value) => revive(value))
  } catch (error) {
    return error as Error
  }
}
