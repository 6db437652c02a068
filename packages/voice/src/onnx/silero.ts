import type { VoiceActivity } from '../listening/voice-activity.ts'
import { onnxFiles } from './packages.ts'
import { type SileroAnswer, type SileroQuestion, sileroContext, sileroState } from './silero-frames.ts'
import { onnxThread } from './thread.ts'

/**
 * Silero VAD, by `onnxruntime-node` and the weights in `@ricky0123/vad-web`: less than a millisecond for each 32 ms of sound, in a thread that all microphones
 * share. Throws `invalid_input` if they are not installed; loaded when it is first used.
 */
export function silero(): VoiceActivity {
  const files = onnxFiles({ op: 'silero', needs: ['onnxruntime-node', '@ricky0123/vad-web'] })
  const thread = onnxThread('silero', { network: 'silero', files: files['@ricky0123/vad-web'] })
  return {
    open() {
      let context = new Int16Array(sileroContext)
      let state = new Float32Array(sileroState)
      return {
        async detect(pcm) {
          const sound = new Int16Array(sileroContext + pcm.length)
          sound.set(context)
          sound.set(pcm, sileroContext)
          context = sound.slice(-sileroContext)
          const question: SileroQuestion = { pcm: sound, state }
          const answer = (await thread.ask(question)) as SileroAnswer
          state = Float32Array.from(answer.state)
          return answer.probabilities
        },
      }
    },
    ready: thread.ready,
    close: thread.close,
  }
}
