import { fastRetry } from './follow.test-kit.ts'
import type { ClientOptions, VoiceLineOptions, VoiceSentence, VoiceState } from './index.ts'
import { client } from './index.ts'
import type { VoiceServer } from './voice-server.test-kit.ts'
import { manualPlayer } from './voice-server.test-kit.ts'

export const rate = 8000

export function threadAt({ url }: Pick<VoiceServer, 'url'>, options: ClientOptions = {}) {
  return client(url, { ...fastRetry, ...options }).thread('t1')
}

/** Opens a voice line with a manual player. */
export async function openLine(server: VoiceServer, options: VoiceLineOptions = {}) {
  const manual = manualPlayer()
  const sentences: VoiceSentence[] = []
  const states: VoiceState[] = []
  const line = threadAt(server).voice({
    player: manual.player,
    sampleRate: rate,
    onSentence: (sentence) => sentences.push(sentence),
    onState: (state) => states.push(state),
    ...options,
  })
  const connection = await server.connection(0)
  return { ...manual, line, connection, sentences, states }
}

/** A sentence of round 1, with ten characters and 1000 samples. */
export function sentence(turn: number, nth: number, position = 1000 * nth) {
  const source = { round: 1, start: 10 * nth, chars: 10 }
  return { type: 'voice_sentence', turn, position, text: `Sentence ${nth}`, ...source }
}

export const turnOf = (turn: number, seq = 7) => ({ type: 'voice_turn', turn, run: 'r', seq })
