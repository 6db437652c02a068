import type { MillraceError, RemoteThread } from 'millrace/client'
import type { RoundView } from 'millrace/view'
import { useEffect, useState } from 'preact/hooks'

export type Exchange = Awaited<ReturnType<RemoteThread['exchanges']>>[number]

/** What is known of the requests of a round; at first nothing. */
export interface Asked {
  readonly exchanges?: readonly Exchange[]
  readonly problem?: string
  again(): void
}

/** Asks the server for the requests of a round, and again whenever the round has come further: it ended, or was sent once more. */
export function useExchanges(thread: RemoteThread, round: RoundView): Asked {
  const [known, setKnown] = useState<Omit<Asked, 'again'>>({})
  const [times, setTimes] = useState(0)
  useEffect(() => {
    let isWanted = true
    thread.exchanges({ run: round.runId, round: round.number }).then(
      (exchanges) => isWanted && setKnown({ exchanges }),
      ({ code, message }: MillraceError) =>
        isWanted &&
        setKnown({
          // Where they are not recorded the server says how to change that.
          problem:
            code === 'auth'
              ? 'Requests hold the instructions of the agent, and are only for those who may inspect it.'
              : message,
        }),
    )
    return () => {
      isWanted = false
    }
  }, [thread, round, round.retries.length, round.endedAt, times])
  return { ...known, again: () => setTimes(times + 1) }
}
