import type { Thread, ThreadEvent } from 'millrace'
import type { Place, SpokenRun } from './reading.ts'
import { unheardRounds } from './turn.ts'

/** Writes to the log how far answers were heard. Never rejects. */
export interface PlaybackRecorder {
  /** The rounds of a run after one were heard up to a place; without a place, not at all. */
  heard(run: SpokenRun, after: number, place?: Place): Promise<void>
  /** All rounds of a run after one were heard, which the log may have otherwise since the client was gone. */
  heardAll(run: SpokenRun, after: number): Promise<void>
  /** Takes note of what the log has already. */
  note(event: ThreadEvent): void
}

export function playbackRecorder(options: {
  readonly thread: Thread
  readonly onError: (error: unknown) => void
}): PlaybackRecorder {
  const { thread, onError } = options
  /** How many characters the log says were heard, by run and round. */
  const noted = new Map<string, number>()

  async function write(run: string, places: readonly Place[]) {
    for (const place of places)
      try {
        await thread.heard({ run, ...place })
      } catch (error) {
        onError(error)
      }
  }

  return {
    heard: (run, after, place) => write(run.id, unheardRounds(run, after, place)),
    heardAll({ id, rounds }, after) {
      const isCut = ([round, length]: [number, number]) =>
        round > after && (noted.get(`${id} ${round}`) ?? length) < length
      return write(
        id,
        [...rounds].filter(isCut).map(([round, chars]) => ({ round, chars })),
      )
    },
    note(event) {
      if (event.type === 'heard') noted.set(`${event.run} ${event.round}`, event.chars)
    },
  }
}
