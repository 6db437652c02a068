import tokenizer from 'llama-tokenizer-js'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { endlessFrom } from './endless.ts'

const begin = 1
const end = 2
/** Words and pieces of them; below are marks, and above those of Moonshine's own that the tokenizer does not know. */
const isWord = (token: number) => token > end && token < tokenizer.vocabById.length

/** Nobody says more in a second, and without a limit it goes on for ever about some noises. The paper on Moonshine has this number. */
const tokensPerSecond = 6.5

/** Heads and their size in the tiny model: the shape of what its decoder remembers. */
const memory = [0, 8, 1, 36]

export async function moonshineNetwork(files: readonly string[]) {
  const load = (file: string | undefined) =>
    InferenceSession.create(String(file), { intraOpNumThreads: 1, interOpNumThreads: 1 })
  const encoder = await load(files[0])
  const decoder = await load(files[1])
  const memories = decoder.inputNames.filter((name) => name.startsWith('past_key_values'))
  const nothing = new Tensor('float32', new Float32Array(0), memory)

  return async (question: unknown, signal: AbortSignal): Promise<string> => {
    const sound = Float32Array.from(question as Int16Array, (sample) => sample / 32_768)
    const { last_hidden_state } = await encoder.run({
      input_values: new Tensor('float32', sound, [1, sound.length]),
    })
    const tokens: number[] = []
    const remembered = Object.fromEntries(memories.map((name) => [name, nothing]))
    const most = Math.ceil((sound.length / 16_000) * tokensPerSecond)
    let last = begin
    while (tokens.length < most && !signal.aborted) {
      const out = await decoder.run({
        input_ids: new Tensor('int64', BigInt64Array.of(BigInt(last)), [1, 1]),
        encoder_hidden_states: last_hidden_state as Tensor,
        use_cache_branch: new Tensor('bool', [tokens.length > 0]),
        ...remembered,
      })
      last = largest(out.logits?.data as Float32Array)
      if (last === end) break
      // What it made of the sound is told in the first step, and empty in all others.
      for (const name of memories) {
        if (tokens.length === 0 || name.includes('decoder'))
          remembered[name] = out[name.replace('past_key_values', 'present')] as typeof nothing
      }
      tokens.push(last)
      const endless = endlessFrom(tokens)
      if (endless !== undefined) {
        tokens.length = endless
        break
      }
    }
    return wordsIn(tokenizer.decode(tokens.filter(isWord), false, true))
  }
}

function largest(scores: Float32Array): number {
  let best = 0
  for (let i = 1; i < scores.length; i++) if ((scores[i] ?? 0) > (scores[best] ?? 0)) best = i
  return best
}

/** '' for dots and quotes alone. */
function wordsIn(text: string): string {
  return /[\p{L}\p{N}]/u.test(text) ? text.trim() : ''
}
