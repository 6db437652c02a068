import type { Clock } from 'millrace'
import { MillraceError } from 'millrace'
import type { SpeechChunk } from '../speech.ts'

export interface ChunkOptions {
  /** Aborted on timeout, or when the reader stops. */
  readonly abort: AbortController
  /** How long the synthesizer may take for the next chunk. */
  readonly timeoutMs: number
  readonly clock: Clock
}

/**
 * Reads the chunks of a synthesizer defensively: it may hang, ignore an abort or return invalid
 * chunks. Ends when `abort` is aborted. Throws `timeout`, or the synthesizer's own error.
 */
export async function* readChunks(
  spoken: AsyncIterable<SpeechChunk>,
  { abort, timeoutMs, clock }: ChunkOptions,
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
        cancel = clock.after(timeoutMs, () => resolve('late'))
      })
      const next = await Promise.race([chunks.next(), late, stopped]).finally(cancel)
      if (next === 'late') throw tooSlow(timeoutMs)
      if (next === 'stopped' || next.done) return
      yield checkChunk(next.value)
    }
  } finally {
    signal.removeEventListener('abort', stop)
    abort.abort()
    // Not awaited: it may hang.
    Promise.resolve(chunks.return?.()).catch(() => {})
  }
}

function tooSlow(ms: number): MillraceError {
  return new MillraceError({
    op: 'speech.synthesize',
    code: 'timeout',
    message: `the synthesizer produced nothing for ${ms} ms`,
  })
}

function notChunks(): MillraceError {
  const message = 'synthesize() must return an async iterable of chunks: make it async *synthesize()'
  return new MillraceError({ op: 'speech.synthesize', code: 'invalid_input', message })
}

function checkChunk(chunk: SpeechChunk): SpeechChunk {
  const { pcm, sampleRate } = chunk ?? {}
  if (pcm instanceof Int16Array && sampleRate >= 8000 && sampleRate <= 192_000) return chunk
  const message =
    'synthesize() must yield { pcm: Int16Array, sampleRate }, with a sampleRate from 8000 to 192000'
  throw new MillraceError({ op: 'speech.synthesize', code: 'invalid_input', message })
}
