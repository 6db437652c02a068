import tokenizer from 'llama-tokenizer-js'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { repetitionStart } from './repetition.ts'

const startToken = 1
const endToken = 2
/**
 * Words and parts of words. Lower ids are control tokens; higher ones are unknown to the tokenizer.
 */
const isWord = (token: number) => token > endToken && token < tokenizer.vocabById.length

/** An upper bound from the Moonshine paper. Without one, some noises produce endless output. */
const tokensPerSecond = 6.5

/** The shape of an empty key/value cache in the tiny model: 8 heads of size 36. */
const cacheShape = [0, 8, 1, 36]

export async function moonshineNetwork(files: readonly string[]) {
  const load = (file: string | undefined) =>
    InferenceSession.create(String(file), { intraOpNumThreads: 1, interOpNumThreads: 1 })
  const encoder = await load(files[0])
  const decoder = await load(files[1])
  const cacheInputs = decoder.inputNames.filter((name) => name.startsWith('past_key_values'))
  const emptyCache = new Tensor('float32', new Float32Array(0), cacheShape)

  return async (request: unknown, signal: AbortSignal): Promise<string> => {
    const audio = Float32Array.from(request as Int16Array, (sample) => sample / 32_768)
    const { last_hidden_state } = await encoder.run({
      input_values: new Tensor('float32', audio, [1, audio.length]),
    })
    const tokens: number[] = []
    const cache = Object.fromEntries(cacheInputs.map((name) => [name, emptyCache]))
    const maxTokens = Math.ceil((audio.length / 16_000) * tokensPerSecond)
    let last = startToken
    while (tokens.length < maxTokens && !signal.aborted) {
      const out = await decoder.run({
        input_ids: new Tensor('int64', BigInt64Array.of(BigInt(last)), [1, 1]),
        encoder_hidden_states: last_hidden_state as Tensor,
        use_cache_branch: new Tensor('bool', [tokens.length > 0]),
        ...cache,
      })
      last = argmax(out.logits?.data as Float32Array)
      if (last === endToken) break
      // The encoder's part of the cache is only returned in the first step.
      for (const name of cacheInputs) {
        if (tokens.length === 0 || name.includes('decoder'))
          cache[name] = out[name.replace('past_key_values', 'present')] as typeof emptyCache
      }
      tokens.push(last)
      const repeatsFrom = repetitionStart(tokens)
      if (repeatsFrom !== undefined) {
        tokens.length = repeatsFrom
        break
      }
    }
    return wordsIn(tokenizer.decode(tokens.filter(isWord), false, true))
  }
}

function argmax(scores: Float32Array): number {
  let best = 0
  for (let i = 1; i < scores.length; i++) if ((scores[i] ?? 0) > (scores[best] ?? 0)) best = i
  return best
}

/** '' if there is only punctuation. */
function wordsIn(text: string): string {
  return /[\p{L}\p{N}]/u.test(text) ? text.trim() : ''
}
