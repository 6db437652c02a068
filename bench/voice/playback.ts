import type { AudioFrame, VoiceEvent } from '../../packages/millrace/src/protocol/voice.ts'
import { roundTexts } from './texts.ts'

/**
 * A simulated loudspeaker: plays at the pace of a clock, and is silent when there is nothing to
 * play.
 */
export interface Player {
  /** Adds samples. */
  add(samples: number): void
  /** How many samples have been played. */
  position(): number
  /** The most samples that ever waited to be played. */
  readonly most: number
  /** How long there was nothing to play between pieces, in milliseconds. */
  readonly silentMs: number
}

export function player(sampleRate: number, now: () => number): Player {
  let received = 0
  let played = 0
  let at = 0
  let most = 0
  let silentMs = 0
  /** Since the last piece was played. */
  let idleMs = 0

  function settle() {
    const time = now()
    const playing = Math.min(time - at, ((received - played) * 1000) / sampleRate)
    played += (playing * sampleRate) / 1000
    if (received > 0) idleMs += time - at - playing
    at = time
  }
  return {
    add(samples) {
      settle()
      silentMs += idleMs
      idleMs = 0
      received += samples
      most = Math.max(most, received - played)
    },
    position() {
      settle()
      // Rounding may lose a thousandth of a sample.
      return Math.floor(played + 0.001)
    },
    get most() {
      return most
    },
    get silentMs() {
      return silentMs
    },
  }
}

/** Checks the audio frames and voice events of a socket. */
export interface AudioCheck {
  takeFrame(frame: AudioFrame): void
  takeEvent(event: VoiceEvent): void
  readonly faults: readonly string[]
}

interface Turn {
  readonly turn: number
  /** Where the next frame starts. */
  samples: number
  /** How many characters of each round the sentences so far cover. */
  readonly spoken: number[]
}

/** Requires every word of the answer once, in order, without a gap in the audio. */
export function audioCheck(): AudioCheck {
  const faults: string[] = []
  /** The first is being spoken; the others wait. */
  const turns: Turn[] = []
  let frames = 0
  let last = 0

  function turnOf(number: number, what: string): Turn | undefined {
    const [first] = turns
    if (first?.turn === number) return first
    faults.push(`${what} of turn ${number} came ${first ? `in turn ${first.turn}` : 'outside of a turn'}`)
    return undefined
  }

  function begin(turn: number) {
    if (turn <= last) faults.push(`turn ${turn} came after turn ${last}`)
    last = turn
    turns.push({ turn, samples: 0, spoken: roundTexts.map(() => 0) })
  }

  function sentence({
    turn,
    position,
    text,
    round,
    start,
    chars,
  }: Extract<VoiceEvent, { type: 'voice_sentence' }>) {
    const now = turnOf(turn, 'a sentence')
    if (!now) return
    if (position !== now.samples) faults.push(`a sentence is at ${position}, expected ${now.samples}`)
    const words = roundTexts[(round ?? 0) - 1]
    if (words === undefined || start === undefined || chars === undefined || round === undefined)
      return void faults.push(`unknown text "${text}"`)
    const index = round - 1
    if (now.spoken.some((chars, at) => chars > 0 && at > index)) faults.push(`round ${round} was spoken late`)
    const skipped = words.slice(now.spoken[index], start)
    if (start < (now.spoken[index] ?? 0) || skipped.trim() !== '') faults.push(`"${text}" is out of order`)
    if (words.slice(start, start + chars).trim() !== text.trim())
      faults.push(`"${text}" is not the text of the answer`)
    now.spoken[index] = start + chars
  }

  function end({ turn, samples }: Extract<VoiceEvent, { type: 'voice_end' }>) {
    const now = turnOf(turn, 'the end')
    if (!now) return
    turns.shift()
    if (samples !== now.samples) faults.push(`turn ${turn} has ${samples} samples, and ${now.samples} came`)
    const missing = roundTexts
      .map((words, at) => words.slice(now.spoken[at]))
      .filter((rest) => rest.trim() !== '')
    if (missing.length > 0) faults.push(`turn ${turn} ended without "${missing.join(' ')}"`)
  }

  return {
    faults,
    takeFrame({ turn, seq, position, pcm }) {
      if (seq !== frames) faults.push(`got frame ${seq}, expected ${frames}`)
      frames = seq + 1
      const now = turnOf(turn, 'audio')
      if (!now) return
      if (position !== now.samples) faults.push(`got audio at ${position}, expected ${now.samples}`)
      now.samples = position + pcm.length
    },
    takeEvent(event) {
      if (event.type === 'voice_turn') begin(event.turn)
      else if (event.type === 'voice_sentence') sentence(event)
      else if (event.type === 'voice_end') end(event)
      else if (event.type === 'voice_error') faults.push(`voice error: ${event.message}`)
      else if (event.type === 'voice_record' && event.record.outcome !== 'completed')
        faults.push(`turn ${event.record.turn} was ${event.record.outcome}`)
      else if (/^voice_(pause|resume|silence|retract)$/.test(event.type))
        faults.push(`unexpected ${event.type}`)
    },
  }
}
