import { InferenceSession, Tensor } from 'onnxruntime-node'
import { frameSamples } from '../listening/voice-activity.ts'
import { type SileroRequest, type SileroResponse, sileroContext } from './silero-frames.ts'

/** Silero VAD, versions 5 and 6. */
export async function sileroNetwork([weights]: readonly string[]) {
  const session = await InferenceSession.create(String(weights), {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
  })
  const sr = new Tensor('int64', BigInt64Array.of(16_000n))
  const inputSamples = sileroContext + frameSamples

  return async (request: unknown): Promise<SileroResponse> => {
    const { pcm, state } = request as SileroRequest
    const audio = Float32Array.from(pcm, (sample) => sample / 32_768)
    const probabilities: number[] = []
    let currentState: Tensor = new Tensor('float32', state, [2, 1, 128])
    for (let at = 0; at + inputSamples <= audio.length; at += frameSamples) {
      const input = new Tensor('float32', audio.slice(at, at + inputSamples), [1, inputSamples])
      const { output, stateN } = await session.run({ input, state: currentState, sr })
      probabilities.push(Number(output?.data[0]))
      currentState = stateN as Tensor
    }
    return { probabilities, state: currentState.data as Float32Array }
  }
}
