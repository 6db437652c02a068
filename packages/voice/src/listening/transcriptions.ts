import { type Clock, MillraceError } from 'millrace'
import { attempt, type Outcome } from './attempt.ts'
import type { Transcriber } from './transcriber.ts'

export interface Transcription {
  /** Settles after those of all that were asked for before. */
  readonly outcome: Promise<Outcome<string>>
  /** It is not needed any more. */
  drop(): void
}

export interface Transcriptions {
  /** In order, one at a time. */
  add(pcm: Int16Array): Transcription
  /** Beside all others. */
  now(pcm: Int16Array): Promise<Outcome<string>>
  close(): void
}

export interface TranscriptionsOptions {
  readonly transcriber: Transcriber
  readonly language: string | undefined
  /** Nothing is asked of it before it is there, and that time does not count. */
  readonly loading: Promise<unknown>
  readonly timeoutMs: number
  readonly clock: Clock
}

/** So many may wait, with their sound: when what is said comes faster than it is understood for this long, that does not end. */
const mostWaiting = 4

/** The work of a transcriber for one microphone: it may be slow, fail or hang, and the next one has its turn. */
export function transcriptions(options: TranscriptionsOptions): Transcriptions {
  const { transcriber, language, loading, timeoutMs, clock } = options
  const closed = new AbortController()
  let waiting = 0
  let last: Promise<unknown> = Promise.resolve()

  async function transcribe(pcm: Int16Array, signal: AbortSignal): Promise<Outcome<string>> {
    await loading
    return attempt(
      async (stop) =>
        textIn(await transcriber.transcribe(pcm, { signal: stop, ...(language && { language }) })),
      { clock, timeoutMs, signal, who: 'the transcriber' },
    )
  }

  return {
    add(pcm) {
      const dropped = new AbortController()
      const before = last
      const work = async (): Promise<Outcome<string>> => {
        await before
        return transcribe(pcm, AbortSignal.any([closed.signal, dropped.signal]))
      }
      const full = waiting >= mostWaiting
      if (!full) waiting++
      const outcome = full ? before.then(tooMany) : work()
      if (!full) outcome.finally(() => waiting--)
      last = outcome
      return { outcome, drop: () => dropped.abort() }
    },
    now: (pcm) => transcribe(pcm, closed.signal),
    close: () => closed.abort(),
  }
}

function textIn(text: unknown): string {
  if (typeof text === 'string') return text.trim()
  throw new TypeError('the transcriber gave something that is no text')
}

function tooMany(): Outcome<string> {
  const message = `the transcriber is slower than speech: more than ${mostWaiting} pieces of it wait`
  return { ok: false, error: new MillraceError({ op: 'listener', code: 'overloaded', message }) }
}
