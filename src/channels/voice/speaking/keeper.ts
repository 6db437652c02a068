import type { Thread } from '../../../threads/index.ts'
import { laterRounds } from './later-rounds.ts'
import type { SpokenRun } from './spoken-run.ts'
import type { Turn } from './turn.ts'
import { placeHeard, unheardRounds } from './turn.ts'

/** Writes to the log how far answers were heard. Never rejects. */
export interface Keeper {
  /** Of a turn that was broken off; `run` is the one that is being read. */
  turn(turn: Turn, run: SpokenRun | undefined): Promise<void>
  /** Of a run that has not come to say anything: what was known of it before. */
  silent(run: SpokenRun): Promise<void>
  /** Of the rounds of a hushed run that nobody has dealt with: nothing. */
  hushed(run: SpokenRun): void
  /** Of what a run goes on to say, from a number of the log on, to a client that is gone: nothing. */
  rest(run: SpokenRun, after: number): Promise<void>
  /** The log has it that so much of a round was heard. */
  note(run: string, round: number, chars: number): void
  /** Of a turn that was cut off before, and has been heard to the end now: all. */
  whole(turn: Turn): void
}

export function heardKeeper(options: {
  readonly thread: Thread
  readonly sampleRate: number
  readonly onError: (error: unknown) => void
}): Keeper {
  const { thread, sampleRate, onError } = options
  /** By run and round. */
  const noted = new Map<string, number>()

  async function keep(run: string, round: number, chars: number) {
    try {
      await thread.heard({ run, round, chars })
    } catch (error) {
      onError(error)
    }
  }

  async function silent({ id, rounds, known, telling }: SpokenRun) {
    for (const { round, chars } of unheardRounds(rounds, { place: known, goesOn: telling }))
      await keep(id, round, chars)
  }

  return {
    async turn(turn, run) {
      const goesOn = run?.id === turn.run ? run.telling : undefined
      const place = placeHeard(turn, sampleRate)
      for (const { round, chars } of unheardRounds(turn.rounds, { place, goesOn }))
        await keep(turn.run, round, chars)
    },
    silent,
    hushed({ id, rounds, hushed }) {
      if (!hushed) return
      for (const [round, length] of rounds) {
        if (hushed.has(round) || length === 0) continue
        hushed.add(round)
        void keep(id, round, 0)
      }
    },
    async rest({ id, telling }, after) {
      try {
        for await (const round of laterRounds(thread, { after, telling })) await keep(id, round, 0)
      } catch (error) {
        onError(error)
      }
    },
    note: (run, round, chars) => void noted.set(`${run} ${round}`, chars),
    whole({ run, rounds }) {
      for (const [round, length] of rounds) {
        const heard = noted.get(`${run} ${round}`)
        if (heard !== undefined && heard < length) void keep(run, round, length)
      }
    },
  }
}
