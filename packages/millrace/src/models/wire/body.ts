import type { JsonObject, JsonValue, ToolMessage } from '../../protocol/index.ts'
import { invalidInput, isJsonObject, messageOf } from '../../protocol/index.ts'

type Fields = Record<string, JsonValue | undefined>

/**
 * A request body: undefined fields are left out, and `extra` overrides everything except `tools`,
 * which are appended to ours.
 */
export function bodyOf(fields: Fields, extra: JsonObject | undefined): JsonObject {
  const { tools: _, ...rest } = extra ?? {}
  const all: Fields = { ...fields, ...rest }
  const ours = Array.isArray(fields.tools) ? fields.tools : []
  const theirs = extraTools(extra)
  // An empty list is rejected: `Invalid 'tools': empty array. Expected an array with minimum length
  // 1`.
  all.tools = ours.length + theirs.length > 0 ? [...ours, ...theirs] : undefined
  const entries = Object.entries(all).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined)
  return Object.fromEntries(entries)
}

/** The tools that the caller declares in the provider's format. */
export function extraTools(extra: JsonObject | undefined): JsonObject[] {
  return Array.isArray(extra?.tools) ? extra.tools.filter(isJsonObject) : []
}

/** A tool result as text, for APIs that accept nothing else. `image` stands in for each image. */
export function resultText(content: ToolMessage['content'], image: string): string {
  return content
    .map((part) =>
      part.type === 'text' ? part.text : part.type === 'json' ? JSON.stringify(part.value) : image,
    )
    .join('\n')
}

/** The JSON of objects that are sent in every round of a conversation; empty until it is needed. */
const texts = new WeakMap<JsonObject, string>()

/** In characters. A larger object, an image, is serialized again rather than kept twice. */
const maxKept = 64 * 1024

/** Serializes an object only once. It must never be modified. */
export function keepText(value: JsonObject): void {
  texts.set(value, '')
}

/**
 * The JSON of a request body. Objects of `keepText` in a list, or in the content of a message in a
 * list, are not serialized again.
 */
export function bodyText(body: JsonObject): string {
  try {
    // Joined once: a long conversation is copied as rarely as possible.
    const pieces: string[] = []
    for (const [key, value] of Object.entries(body)) {
      const name = `${JSON.stringify(key)}:`
      if (Array.isArray(value)) addList(pieces, name, value)
      else {
        const text = textOf(value)
        if (text !== undefined) pieces.push(name + text)
      }
    }
    return `{${pieces.join(',')}}`
  } catch (cause) {
    const message = `the request cannot be serialized as JSON (${messageOf(cause)}): check settings.extra`
    throw invalidInput('model.stream', message, cause)
  }
}

/** Adds a list as pieces between commas, so that the brackets are in the first and the last one. */
function addList(pieces: string[], name: string, list: readonly JsonValue[]) {
  const first = pieces.length
  for (const item of list) pieces.push(itemText(item))
  if (pieces.length === first) pieces.push('')
  pieces[first] = `${name}[${pieces[first]}`
  pieces[pieces.length - 1] += ']'
}

function itemText(item: JsonValue): string {
  if (!isJsonObject(item)) return textOf(item) ?? 'null'
  const kept = texts.get(item)
  if (kept) return kept
  if (kept === undefined && item.role !== undefined && Array.isArray(item.content)) {
    const { content, ...rest } = item
    const pieces = [textOf(rest)?.slice(0, -1) ?? '']
    addList(pieces, '"content":', content)
    return `${pieces.join(',')}}`
  }
  const text = textOf(item) ?? 'null'
  if (kept === '' && text.length <= maxKept) texts.set(item, text)
  return text
}

/**
 * A lone surrogate is serialized as an escape, which Anthropic rejects (`no low surrogate in
 * string`), along with every later request of the conversation. They are rare: only a text that
 * contains such an escape is serialized again. Undefined for what is not JSON.
 */
function textOf(value: JsonValue): string | undefined {
  const text: string | undefined = JSON.stringify(value)
  if (text === undefined || !/\\ud[89a-f]/.test(text)) return text
  return JSON.stringify(value, (_, one) => (typeof one === 'string' ? one.toWellFormed() : one))
}
