import type { JsonObject } from 'millrace'
import { isJsonObject } from './json-object.ts'

const letters = 'aQ3xZr8KpL0vTn5Y'

/** By default OpenAI pads its deltas, so that their sizes do not reveal the words. */
export function obfuscation({ stream_options: options }: JsonObject, delta = ''): JsonObject {
  if (isJsonObject(options) && options.include_obfuscation === false) return {}
  return { obfuscation: letters.slice(delta.length % letters.length) }
}
