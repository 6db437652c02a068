import type { Speech, SpeechChunk } from '@millrace/voice'
import type { RemoteThread, TurnRecord } from 'millrace/client'
import { telephone } from './telephone.ts'

export interface CallerLine {
  readonly text: string
  /**
   * Interrupts the previous answer after this many sentences have started. If absent, waits until all
   * of it was heard.
   */
  readonly afterSentences?: number
}

export interface CallOptions {
  readonly lines: readonly CallerLine[]
  readonly speech: Speech
  /** The caller's voice, one of `speech`. */
  readonly voice: string
  /** Called for each event, with the seconds since the start of the call. */
  readonly log: (seconds: number, what: string) => void
  readonly signal: AbortSignal
}

/** Enough for speech, and what the voice and the listener use. */
const sampleRate = 16_000
/** How long the desk may stay silent before the call fails. */
const timeoutMs = 60_000

/** Makes a call: says the lines, listens to the answers, hangs up. Returns both sides as a WAV file. */
export async function call(
  thread: RemoteThread,
  { lines, speech, voice, log, signal }: CallOptions,
): Promise<Uint8Array> {
  const sounds: Int16Array[] = []
  for (const { text } of lines) sounds.push(await soundOf(speech.synthesize(text, { voice, signal })))

  const phone = telephone(sampleRate)
  const hangUp = new AbortController()
  const ended = AbortSignal.any([signal, hangUp.signal])
  const report = (what: string) => log(phone.seconds, what)
  const { until, changed } = conditions()
  let isOpen = false
  /** Lines that were said, lines that were answered, and sentences of the current answer. */
  let [said, answered, sentences] = [0, 0, 0]
  const line = thread.voice({
    player: phone.player,
    microphone: phone.microphone,
    sampleRate,
    signal: ended,
    onTranscript({ text, final, seq }) {
      if (!final) return
      report(`understood: ${text || '(nothing)'}`)
      if (seq === undefined) answered++
      changed()
    },
    onSentence({ text }) {
      report(`desk: ${text}`)
      sentences++
      changed()
    },
    onRecord(record) {
      report(describeTurn(record))
      answered++
      changed()
    },
    onState(state) {
      isOpen ||= state === 'open'
      changed()
    },
    onError({ message, text }) {
      report(`error: ${message}`)
      // An error in transcribing the caller: there will be no answer.
      if (text === undefined) answered++
      changed()
    },
  })

  const followTools = async () => {
    for await (const { event } of thread.follow({ signal: ended }))
      if (event.type === 'tool-start') report(`tool: ${event.name}`)
  }

  const conversation = async () => {
    await until(() => isOpen, timeoutMs)
    for (const [at, { text, afterSentences }] of lines.entries()) {
      const enough = afterSentences ?? Number.POSITIVE_INFINITY
      await until(() => answered === said || sentences >= enough, timeoutMs)
      sentences = 0
      report(`caller: ${text}`)
      said++
      await phone.say(sounds[at] ?? new Int16Array())
    }
    await until(() => answered === said, timeoutMs)
  }
  const tools = followTools()
  try {
    await Promise.race([conversation(), line.ended.then(() => signal.throwIfAborted())])
  } finally {
    hangUp.abort()
    await Promise.all([tools, line.close()])
  }
  return phone.recording.wav()
}

async function soundOf(chunks: AsyncIterable<SpeechChunk>): Promise<Int16Array> {
  // Starts with silence: words at the very start of a call are recognized less well.
  const samples = Array.from({ length: sampleRate / 2 }, () => 0)
  for await (const { pcm } of chunks) for (const sample of pcm) samples.push(sample)
  return Int16Array.from(samples)
}

/** How a turn went, with times since the end of the question. */
function describeTurn({
  firstTokenMs,
  firstSentenceMs,
  firstAudioMs,
  playbackMs,
  ...record
}: TurnRecord): string {
  const times = { words: firstTokenMs, sentence: firstSentenceMs, audio: firstAudioMs, heard: playbackMs }
  const first = Object.entries(times).flatMap(([what, ms]) => (ms === undefined ? [] : [`${what} ${ms} ms`]))
  const gaps = record.gaps.map((gap) => `${gap.ms} ms for the ${gap.for}`)
  return [
    `turn ${record.turn} ${record.outcome}: first ${first.join(', ')} after the ${record.since}`,
    `${record.wordsPlayed} of ${record.words} words heard`,
    ...(gaps.length > 0 ? [`silence of ${gaps.join(', ')}`] : []),
  ].join('; ')
}

/** `until` resolves when its condition holds, which is checked on each `changed()`. */
function conditions() {
  const checks = new Set<() => void>()
  return {
    changed: () => {
      for (const check of checks) check()
    },
    until: (condition: () => boolean, withinMs: number) =>
      new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => {
          checks.delete(check)
          reject(new Error(`the desk was silent for ${withinMs / 1000} s`))
        }, withinMs)
        // After hanging up there is nothing to wait for.
        timer.unref()
        function check() {
          if (!condition()) return
          clearTimeout(timer)
          checks.delete(check)
          resolve()
        }
        checks.add(check)
        check()
      }),
  }
}
