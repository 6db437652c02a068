import type { VoiceActivity } from '../listening/voice-activity.ts'
import { onnxFiles } from './packages.ts'
import { type SileroRequest, type SileroResponse, sileroContext, sileroState } from './silero-frames.ts'
import { onnxThread } from './thread.ts'

/**
 * Silero VAD. Uses `onnxruntime-node` and the weights in `@ricky0123/vad-web`. Takes less than 1 ms
 * per 32 ms of audio, in a thread that all microphones share. Throws `invalid_input` if the
 * packages are not installed. Loads on first use.
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
          const audio = new Int16Array(sileroContext + pcm.length)
          audio.set(context)
          audio.set(pcm, sileroContext)
          context = audio.slice(-sileroContext)
          const request: SileroRequest = { pcm: audio, state }
          const response = (await thread.run(request)) as SileroResponse
          state = Float32Array.from(response.state)
          return response.probabilities
        },
      }
    },
    ready: thread.ready,
    close: thread.close,
  }
}
