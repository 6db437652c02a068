import type { AudioFrame, VoiceEvent } from '../../packages/millrace/src/protocol/voice.ts'
import { roundTexts } from './texts.ts'

/** A loudspeaker that is none: plays what it is given at the pace of a clock, and falls silent when there is nothing more. */
export interface Player {
  /** Takes so many samples more. */
  add(samples: number): void
  /** How many have been played by now. */
  position(): number
  /** The most that was ever there and not played. */
  readonly most: number
  /** For how long there was nothing to play between two pieces, in milliseconds. */
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
      // A thousandth of a sample may be lost in counting.
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

/** Follows what a socket is told of a voice, and notes what is wrong with it. */
export interface AudioCheck {
  takeFrame(frame: AudioFrame): void
  takeEvent(event: VoiceEvent): void
  readonly faults: readonly string[]
}

interface Turn {
  readonly turn: number
  /** Where the next frame begins. */
  samples: number
  /** Of each round, how much of it was said by the sentences so far. */
  readonly told: number[]
}

/** What was told is the answer: every word of it once, in order, without a gap in the audio. */
export function audioCheck(): AudioCheck {
  const faults: string[] = []
  /** The first is being spoken; the others wait for it. */
  const turns: Turn[] = []
  let frames = 0
  let last = 0

  function turnOf(number: number, what: string): Turn | undefined {
    const [first] = turns
    if (first?.turn === number) return first
    faults.push(`${what} of turn ${number} came ${first ? `in turn ${first.turn}` : 'in none'}`)
    return undefined
  }

  function begin(turn: number) {
    if (turn <= last) faults.push(`turn ${turn} came after turn ${last}`)
    last = turn
    turns.push({ turn, samples: 0, told: roundTexts.map(() => 0) })
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
    if (position !== now.samples) faults.push(`a sentence is at ${position}, where ${now.samples} is next`)
    const words = roundTexts[(round ?? 0) - 1]
    if (words === undefined || start === undefined || chars === undefined || round === undefined)
      return void faults.push(`nobody said "${text}"`)
    const index = round - 1
    if (now.told.some((told, at) => told > 0 && at > index)) faults.push(`round ${round} was spoken late`)
    const skipped = words.slice(now.told[index], start)
    if (start < (now.told[index] ?? 0) || skipped.trim() !== '') faults.push(`"${text}" is out of order`)
    if (words.slice(start, start + chars).trim() !== text.trim())
      faults.push(`"${text}" is not what was said`)
    now.told[index] = start + chars
  }

  function end({ turn, samples }: Extract<VoiceEvent, { type: 'voice_end' }>) {
    const now = turnOf(turn, 'the end')
    if (!now) return
    turns.shift()
    if (samples !== now.samples) faults.push(`turn ${turn} has ${samples} samples, and ${now.samples} came`)
    const missing = roundTexts
      .map((words, at) => words.slice(now.told[at]))
      .filter((rest) => rest.trim() !== '')
    if (missing.length > 0) faults.push(`turn ${turn} ended without "${missing.join(' ')}"`)
  }

  return {
    faults,
    takeFrame({ turn, seq, position, pcm }) {
      if (seq !== frames) faults.push(`frame ${seq} came where ${frames} was next`)
      frames = seq + 1
      const now = turnOf(turn, 'audio')
      if (!now) return
      if (position !== now.samples) faults.push(`audio of ${position} came where ${now.samples} was next`)
      now.samples = position + pcm.length
    },
    takeEvent(event) {
      if (event.type === 'voice_turn') begin(event.turn)
      else if (event.type === 'voice_sentence') sentence(event)
      else if (event.type === 'voice_end') end(event)
      else if (event.type === 'voice_error') faults.push(`the voice said ${event.message}`)
      else if (event.type === 'voice_record' && event.record.outcome !== 'completed')
        faults.push(`turn ${event.record.turn} was ${event.record.outcome}`)
      else if (/^voice_(pause|resume|hush|retract)$/.test(event.type))
        faults.push(`there was a ${event.type}`)
    },
  }
}
