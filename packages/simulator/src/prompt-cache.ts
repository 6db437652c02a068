import { hash } from 'node:crypto'
import type { JsonObject, JsonValue } from 'millrace'
import type { OptionTable } from 'millrace/internal'
import { checkOptions, wholeNumber } from 'millrace/internal'
import { isJsonObject } from './json-object.ts'
import type { Wire } from './wire.ts'

export interface PromptCacheOptions {
  /** Prompts and prefixes that are shorter than this are not cached. Default: 1024. */
  readonly minTokens?: number
}

/** A request that was looked up in the cache. Both counts are at most its input tokens, together. */
interface Lookup {
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  /** The request is answered: later ones can read it from the cache. */
  keep(): void
}

/** Remembers the beginnings of the requests that were answered. */
export interface PromptCache {
  lookUp(wire: Wire, body: JsonObject, inputTokens: number): Lookup
}

const table: OptionTable<PromptCacheOptions> = { minTokens: wholeNumber(0) }

/** How many beginnings are remembered, one per message or block. The oldest are forgotten first. */
const maxPrefixes = 20_000

const nothing: Lookup = { cacheReadTokens: 0, cacheWriteTokens: 0, keep() {} }

/**
 * A prompt cache like those of the providers: it finds the longest beginning of a request that an
 * earlier request had too, in whole messages or content blocks. OpenAI caches everything and does
 * not report writes. Anthropic caches up to the last `cache_control` and reports writes. Unlike
 * Anthropic's, it finds every earlier block, and nothing expires.
 */
export function promptCache(options: PromptCacheOptions | false = {}): PromptCache {
  if (options === false) return { lookUp: () => nothing }
  checkOptions(options, table, {
    op: 'providerSimulator',
    what: 'the option of providerSimulator() promptCache.',
  })
  const { minTokens = 1024 } = options
  const known = new Set<string>()

  function remember(keys: readonly string[]) {
    for (const key of keys) {
      // Moves it to the end.
      known.delete(key)
      known.add(key)
    }
    if (known.size <= maxPrefixes) return
    // Many at once: finding the first entry of a set takes longer with each one deleted before it.
    for (const key of known) {
      if (known.size <= maxPrefixes / 2) return
      known.delete(key)
    }
  }

  return {
    lookUp(wire, body, inputTokens) {
      // Most requests in tests are short: they cost nothing.
      if (inputTokens < minTokens) return nothing
      const units = unitsOf(wire, body)
      const cached = wire === 'anthropic' ? units.findLastIndex(({ marked }) => marked) + 1 : units.length
      const keys: string[] = []
      const sums: number[] = []
      let sum = 0
      for (const { text, chars } of units) {
        keys.push(hash('sha1', `${keys.at(-1) ?? ''} ${text}`, 'base64'))
        sum += chars
        sums.push(sum)
      }
      const tokensUpTo = (count: number) => {
        const tokens = Math.floor((inputTokens * (sums[count - 1] ?? 0)) / Math.max(1, sum))
        return tokens < minTokens ? 0 : tokens
      }
      const cacheable = keys.slice(0, cached)
      const cacheReadTokens = tokensUpTo(cacheable.findLastIndex((key) => known.has(key)) + 1)
      const cacheWriteTokens = wire === 'anthropic' ? tokensUpTo(cached) - cacheReadTokens : 0
      return { cacheReadTokens, cacheWriteTokens, keep: () => remember(cacheable) }
    },
  }
}

/** A piece of a prompt. */
interface Unit {
  /** Everything that must be the same for a later request. */
  readonly text: string
  readonly chars: number
  /** Anthropic: a cache breakpoint follows. */
  readonly marked: boolean
}

/** The pieces of a prompt, in the order in which the model reads them. */
function unitsOf(wire: Wire, body: JsonObject): Unit[] {
  const { model, tools, system, instructions, messages, input, response_format, text } = body
  const settings =
    wire === 'anthropic'
      ? // These affect only the messages: tools and system prompt stay cached.
        { tool_choice: body.tool_choice, thinking: body.thinking, output_config: body.output_config }
      : {}
  const everything = body.cache_control !== undefined
  return [
    setting({ model, response_format, text }),
    ...listOf(tools).map(unit),
    ...listOf(system ?? instructions).map(unit),
    setting(settings),
    ...listOf(messages ?? input)
      .flatMap(blocksOf)
      .map(unit),
  ].map((one, at, all) => (everything && at === all.length - 1 ? { ...one, marked: true } : one))
}

const listOf = (value: JsonValue | undefined): readonly JsonValue[] =>
  value === undefined ? [] : [value].flat()

/** Not part of the prompt's length. */
const setting = (value: object): Unit => ({ text: JSON.stringify(value), chars: 0, marked: false })

function unit(value: JsonValue): Unit {
  const { cache_control: mark, ...rest } = isJsonObject(value) ? value : { value }
  const text = JSON.stringify(rest)
  return { text, chars: text.length, marked: mark !== undefined }
}

/** A message per content block, so that a block that is added to a message leaves the others cached. */
function blocksOf(message: JsonValue): JsonValue[] {
  if (!isJsonObject(message) || !Array.isArray(message.content)) return [message]
  const { content, ...rest } = message
  return content.map((block) => (isJsonObject(block) ? { ...rest, ...block } : { ...rest, block }))
}
