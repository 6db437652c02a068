import { invalidInput } from '../protocol/index.ts'
import { checkFor } from './options.ts'
import type { VoiceLine, VoiceLineOptions } from './voice-options.ts'
import { readVoiceOptions } from './voice-options.ts'
import type { VoiceTarget } from './voice-target.ts'

/** Opens a voice line. Its code is loaded on demand: most clients never use it. */
export function openVoice(options: VoiceLineOptions, target: VoiceTarget): VoiceLine {
  const { op, sockets } = target
  checkFor('voice', options)
  const settings = readVoiceOptions(op, options)
  if (sockets.headers)
    throw invalidInput(op, "voice needs a WebSocket, which cannot send 'headers': pass a 'token'")
  const controller = new AbortController()
  const abort = () => controller.abort()
  let interrupt = () => {}
  let position = options.from

  async function run() {
    options.signal?.addEventListener('abort', abort)
    if (options.signal?.aborted) abort()
    try {
      const { voiceLine } = await import('./voice-line.ts')
      const line = voiceLine({ ...settings, signal: controller.signal }, target)
      interrupt = line.interrupt
      await line.ended
      position = line.position()
    } finally {
      interrupt = () => {}
      options.signal?.removeEventListener('abort', abort)
    }
  }

  const ended = run()
  const settled = ended.catch(() => {})
  return {
    interrupt: () => interrupt(),
    async close() {
      abort()
      await settled
      return position
    },
    ended,
  }
}
