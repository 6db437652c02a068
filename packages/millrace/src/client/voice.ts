import { invalidInput } from '../protocol/index.ts'
import { checkFor } from './options.ts'
import type { VoiceLine, VoiceLineOptions } from './voice-options.ts'
import { readVoiceOptions } from './voice-options.ts'
import type { VoiceWay } from './voice-way.ts'

/** Opens a line. What it takes to speak is loaded only then: most who read a thread do not hear it. */
export function openVoice(options: VoiceLineOptions, way: VoiceWay): VoiceLine {
  const { op, sockets } = way
  checkFor('voice', options)
  const read = readVoiceOptions(op, options)
  if (sockets.headers)
    throw invalidInput(op, "voice needs a WebSocket, which cannot carry 'headers': pass a 'token'")
  const controller = new AbortController()
  const abort = () => controller.abort()
  let interrupt = () => {}
  let place = options.from

  async function run() {
    options.signal?.addEventListener('abort', abort)
    if (options.signal?.aborted) abort()
    try {
      const { voiceLine } = await import('./voice-line.ts')
      const line = voiceLine({ ...read, signal: controller.signal }, way)
      interrupt = line.interrupt
      await line.ended
      place = line.place()
    } finally {
      interrupt = () => {}
      options.signal?.removeEventListener('abort', abort)
    }
  }

  const ended = run()
  const quietly = ended.catch(() => {})
  return {
    interrupt: () => interrupt(),
    async close() {
      abort()
      await quietly
      return place
    },
    ended,
  }
}
