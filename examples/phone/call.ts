import type { Speech, SpeechChunk } from '@millrace/voice'
import type { RemoteThread, TurnRecord } from 'millrace/client'
import { telephone } from './telephone.ts'

/** What a caller says. */
export interface CallerLine {
  readonly text: string
  /** When so many sentences of the answer before have begun; if absent, when all of it has been heard. */
  readonly afterSentences?: number
}

export interface CallOptions {
  readonly lines: readonly CallerLine[]
  readonly speech: Speech
  /** One of its voices. */
  readonly voice: string
  /** Told of everything as it happens, and how long the call has lasted. */
  readonly tell: (seconds: number, what: string) => void
  readonly signal: AbortSignal
}

/** Enough for words, and what the voice and the ears of this desk work with. */
const sampleRate = 16_000
/** A desk that says nothing for so long is not there. */
const patienceMs = 60_000

/** Calls, says its lines, hears the answers, and hangs up. Gives both sides of it as the bytes of a WAV file. */
export async function call(
  thread: RemoteThread,
  { lines, speech, voice, tell, signal }: CallOptions,
): Promise<Uint8Array> {
  const sounds: Int16Array[] = []
  for (const { text } of lines) sounds.push(await soundOf(speech.synthesize(text, { voice, signal })))

  const phone = telephone(sampleRate)
  const hangUp = new AbortController()
  const over = AbortSignal.any([signal, hangUp.signal])
  const say = (what: string) => tell(phone.seconds, what)
  const { until, happened } = moments()
  let isOpen = false
  /** Lines that were said, those that came to their end, and sentences of the answer that have begun. */
  let [said, answered, sentences] = [0, 0, 0]
  const line = thread.voice({
    player: phone.player,
    microphone: phone.microphone,
    sampleRate,
    signal: over,
    onTranscript({ text, final, seq }) {
      if (!final) return
      say(`understood: ${text || '(nothing)'}`)
      if (seq === undefined) answered++
      happened()
    },
    onSentence({ text }) {
      say(`desk: ${text}`)
      sentences++
      happened()
    },
    onRecord(record) {
      say(inWords(record))
      answered++
      happened()
    },
    onState(state) {
      isOpen ||= state === 'open'
      happened()
    },
    onError({ message, text }) {
      say(`trouble: ${message}`)
      // Not a sentence of the desk's but one of the caller's: nobody will answer it.
      if (text === undefined) answered++
      happened()
    },
  })

  /** Tools run beside the words: each is told of when it begins. */
  const followTools = async () => {
    for await (const { event } of thread.follow({ signal: over }))
      if (event.type === 'tool-start') say(`tool: ${event.name}`)
  }

  const conversation = async () => {
    await until(() => isOpen, patienceMs)
    for (const [at, { text, afterSentences }] of lines.entries()) {
      const enough = afterSentences ?? Number.POSITIVE_INFINITY
      await until(() => answered === said || sentences >= enough, patienceMs)
      sentences = 0
      say(`caller: ${text}`)
      said++
      await phone.say(sounds[at] ?? new Int16Array())
    }
    await until(() => answered === said, patienceMs)
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
  // A breath first: words that begin with the line are understood less well.
  const samples = Array.from({ length: sampleRate / 2 }, () => 0)
  for await (const { pcm } of chunks) for (const sample of pcm) samples.push(sample)
  return Int16Array.from(samples)
}

/** How an answer went, from the end of the question on. */
function inWords({ firstTokenMs, firstSentenceMs, firstAudioMs, playbackMs, ...record }: TurnRecord): string {
  const times = { words: firstTokenMs, sentence: firstSentenceMs, audio: firstAudioMs, heard: playbackMs }
  const first = Object.entries(times).flatMap(([what, ms]) => (ms === undefined ? [] : [`${what} ${ms} ms`]))
  const gaps = record.gaps.map((gap) => `${gap.ms} ms for the ${gap.for}`)
  return [
    `turn ${record.turn} ${record.outcome}: first ${first.join(', ')} after the ${record.since}`,
    `${record.wordsHeard} of ${record.words} words heard`,
    ...(gaps.length > 0 ? [`silence of ${gaps.join(', ')}`] : []),
  ].join('; ')
}

/** To wait until something is so, which is looked at whenever anything has happened. */
function moments() {
  const looks = new Set<() => void>()
  return {
    happened: () => {
      for (const look of looks) look()
    },
    until: (isSo: () => boolean, withinMs: number) =>
      new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => {
          looks.delete(look)
          reject(new Error(`the desk has said nothing for ${withinMs / 1000} s`))
        }, withinMs)
        // A caller who has hung up waits for nothing.
        timer.unref()
        function look() {
          if (!isSo()) return
          clearTimeout(timer)
          looks.delete(look)
          resolve()
        }
        looks.add(look)
        look()
      }),
  }
}
