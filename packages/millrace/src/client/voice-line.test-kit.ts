import { eager } from './follow.test-kit.ts'
import type { ClientOptions, VoiceLineOptions, VoiceSentence, VoiceState } from './index.ts'
import { client } from './index.ts'
import type { VoiceServer } from './voice-server.test-kit.ts'
import { ownedPlayer } from './voice-server.test-kit.ts'

export const rate = 8000

export function threadAt({ url }: Pick<VoiceServer, 'url'>, options: ClientOptions = {}) {
  return client(url, { ...eager, ...options }).thread('t1')
}

/** A line that speaks, in the middle of a turn of sentences of 1000 samples each. */
export async function speaking(server: VoiceServer, options: VoiceLineOptions = {}) {
  const owned = ownedPlayer()
  const sentences: VoiceSentence[] = []
  const states: VoiceState[] = []
  const line = threadAt(server).voice({
    player: owned.player,
    sampleRate: rate,
    onSentence: (sentence) => sentences.push(sentence),
    onState: (state) => states.push(state),
    ...options,
  })
  const visit = await server.visit(0)
  return { ...owned, line, visit, sentences, states }
}

/** Of round 1, each of ten characters. */
export function sentence(turn: number, nth: number, position = 1000 * nth) {
  const place = { round: 1, start: 10 * nth, chars: 10 }
  return { type: 'voice_sentence', turn, position, text: `Sentence ${nth}`, ...place }
}

export const turnOf = (turn: number, seq = 7) => ({ type: 'voice_turn', turn, run: 'r', seq })
