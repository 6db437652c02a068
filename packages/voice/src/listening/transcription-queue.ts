import { type Clock, MillraceError } from 'millrace'
import { attempt, type Outcome } from './attempt.ts'
import type { Transcriber } from './transcriber.ts'

export interface Transcription {
  /** Settles after all earlier transcriptions. */
  readonly outcome: Promise<Outcome<string>>
  /** Cancels it. */
  drop(): void
}

export interface TranscriptionQueue {
  /** Queues a transcription. They run in order, one at a time. */
  add(pcm: Int16Array): Transcription
  /** Transcribes at once, in parallel to the queue. */
  transcribeNow(pcm: Int16Array): Promise<Outcome<string>>
  close(): void
}

export interface TranscriptionQueueOptions {
  readonly transcriber: Transcriber
  readonly language: string | undefined
  /** The transcriber is called only after this. Loading does not count toward the timeout. */
  readonly loading: Promise<unknown>
  readonly timeoutMs: number
  readonly clock: Clock
}

/** How many may wait with their audio. A longer queue means that the transcriber cannot keep up. */
const maxWaiting = 4

/** Transcriptions for one microphone. One that fails or hangs does not block the next. */
export function transcriptionQueue(options: TranscriptionQueueOptions): TranscriptionQueue {
  const { transcriber, language, loading, timeoutMs, clock } = options
  const closed = new AbortController()
  let waiting = 0
  let last: Promise<unknown> = Promise.resolve()

  async function transcribe(pcm: Int16Array, signal: AbortSignal): Promise<Outcome<string>> {
    await loading
    return attempt(
      async (stop) =>
        checkText(await transcriber.transcribe(pcm, { signal: stop, ...(language && { language }) })),
      { clock, timeoutMs, signal, subject: 'the transcriber' },
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
      const full = waiting >= maxWaiting
      if (!full) waiting++
      const outcome = full ? before.then(overloaded) : work()
      if (!full) outcome.finally(() => waiting--)
      last = outcome
      return { outcome, drop: () => dropped.abort() }
    },
    transcribeNow: (pcm) => transcribe(pcm, closed.signal),
    close: () => closed.abort(),
  }
}

function checkText(text: unknown): string {
  if (typeof text === 'string') return text.trim()
  throw new TypeError('the transcriber must return a string')
}

function overloaded(): Outcome<string> {
  const message = `the transcriber is slower than the speech: more than ${maxWaiting} pieces are waiting`
  return { ok: false, error: new MillraceError({ op: 'listener', code: 'overloaded', message }) }
}
