import type { Thread, ThreadEvent } from 'millrace'
import type { SpokenRun, TextPosition } from './reading.ts'
import { unplayedRounds } from './turn.ts'

/** Writes to the log how far answers were played. Never rejects. */
export interface PlaybackRecorder {
  /**
   * Records that the rounds after `after` were played up to a position; without one, not at all.
   */
  recordPlayed(run: SpokenRun, after: number, position?: TextPosition): Promise<void>
  /**
   * Records that all rounds after `after` were played, correcting what was written while the client
   * was away.
   */
  recordAllPlayed(run: SpokenRun, after: number): Promise<void>
  /** Tracks the playback events that the log already has. */
  observe(event: ThreadEvent): void
}

export function playbackRecorder(options: {
  readonly thread: Thread
  readonly onError: (error: unknown) => void
}): PlaybackRecorder {
  const { thread, onError } = options
  /** The played characters according to the log, by run and round. */
  const recorded = new Map<string, number>()

  async function write(run: string, positions: readonly TextPosition[]) {
    for (const position of positions)
      try {
        await thread.reportPlayback({ run, ...position })
      } catch (error) {
        onError(error)
      }
  }

  return {
    recordPlayed: (run, after, position) => write(run.id, unplayedRounds(run, after, position)),
    recordAllPlayed({ id, rounds }, after) {
      const isIncomplete = ([round, length]: [number, number]) =>
        round > after && (recorded.get(`${id} ${round}`) ?? length) < length
      return write(
        id,
        [...rounds].filter(isIncomplete).map(([round, chars]) => ({ round, chars })),
      )
    },
    observe(event) {
      if (event.type === 'playback') recorded.set(`${event.run} ${event.round}`, event.chars)
    },
  }
}
