import type { Clock } from 'millrace'
import { MillraceError } from 'millrace'
import type { SpeechChunk } from '../speech.ts'

export interface ChunkOptions {
  /** Aborted when it takes too long, or whoever reads has had enough. */
  readonly abort: AbortController
  /** So long a voice may take for the next piece. */
  readonly patienceMs: number
  readonly clock: Clock
}

/**
 * The pieces of what a voice says, from a voice that may do anything: hang, go on after it was told to stop, give nonsense. Ends
 * when `abort` is aborted; throws `timeout` or what the voice threw.
 */
export async function* chunksOf(
  spoken: AsyncIterable<SpeechChunk>,
  { abort, patienceMs, clock }: ChunkOptions,
): AsyncGenerator<SpeechChunk, undefined> {
  const { signal } = abort
  if (typeof spoken?.[Symbol.asyncIterator] !== 'function') throw notChunks()
  const chunks = spoken[Symbol.asyncIterator]()
  let stop = () => {}
  const stopped = new Promise<'stopped'>((resolve) => {
    stop = () => resolve('stopped')
  })
  signal.addEventListener('abort', stop)
  try {
    for (;;) {
      if (signal.aborted) return
      let cancel = () => {}
      const late = new Promise<'late'>((resolve) => {
        cancel = clock.after(patienceMs, () => resolve('late'))
      })
      const next = await Promise.race([chunks.next(), late, stopped]).finally(cancel)
      if (next === 'late') throw tooSlow(patienceMs)
      if (next === 'stopped' || next.done) return
      yield checked(next.value)
    }
  } finally {
    signal.removeEventListener('abort', stop)
    abort.abort()
    // One that hangs is not waited for.
    Promise.resolve(chunks.return?.()).catch(() => {})
  }
}

function tooSlow(ms: number): MillraceError {
  return new MillraceError({
    op: 'speech.synthesize',
    code: 'timeout',
    message: `nothing came from the voice for ${ms} ms`,
  })
}

function notChunks(): MillraceError {
  const message = 'synthesize() of a voice must give an async iterable of chunks: make it async *synthesize()'
  return new MillraceError({ op: 'speech.synthesize', code: 'invalid_input', message })
}

function checked(chunk: SpeechChunk): SpeechChunk {
  const { pcm, sampleRate } = chunk ?? {}
  if (pcm instanceof Int16Array && sampleRate >= 8000 && sampleRate <= 192_000) return chunk
  const message = 'a voice must give { pcm: Int16Array, sampleRate }, with 8000 to 192000 samples a second'
  throw new MillraceError({ op: 'speech.synthesize', code: 'invalid_input', message })
}
