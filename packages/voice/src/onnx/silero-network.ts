import { InferenceSession, Tensor } from 'onnxruntime-node'
import { frameSamples } from '../listening/voice-activity.ts'
import { type SileroAnswer, type SileroQuestion, sileroContext } from './silero-frames.ts'

/** Silero VAD, versions 5 and 6. */
export async function sileroNetwork([weights]: readonly string[]) {
  const session = await InferenceSession.create(String(weights), {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
  })
  const sr = new Tensor('int64', BigInt64Array.of(16_000n))
  const seen = sileroContext + frameSamples

  return async (question: unknown): Promise<SileroAnswer> => {
    const { pcm, state } = question as SileroQuestion
    const sound = Float32Array.from(pcm, (sample) => sample / 32_768)
    const probabilities: number[] = []
    let carried: Tensor = new Tensor('float32', state, [2, 1, 128])
    for (let at = 0; at + seen <= sound.length; at += frameSamples) {
      const input = new Tensor('float32', sound.slice(at, at + seen), [1, seen])
      const { output, stateN } = await session.run({ input, state: carried, sr })
      probabilities.push(Number(output?.data[0]))
      carried = stateN as Tensor
    }
    return { probabilities, state: carried.data as Float32Array }
  }
}
