import type { MillraceError, RemoteThread } from 'millrace/client'
import type { RoundView } from 'millrace/view'
import { useEffect, useState } from 'preact/hooks'

export type Exchange = Awaited<ReturnType<RemoteThread['exchanges']>>[number]

/** The requests of a round; empty while they are loading. */
export interface ExchangesState {
  readonly exchanges?: readonly Exchange[]
  readonly problem?: string
  refresh(): void
}

/** Loads the requests of a round, and again when the round is retried or ends. */
export function useExchanges(thread: RemoteThread, round: RoundView): ExchangesState {
  const [known, setKnown] = useState<Omit<ExchangesState, 'refresh'>>({})
  const [times, setTimes] = useState(0)
  useEffect(() => {
    let isWanted = true
    thread.exchanges({ run: round.runId, round: round.number }).then(
      (exchanges) => isWanted && setKnown({ exchanges }),
      ({ code, message }: MillraceError) =>
        isWanted &&
        setKnown({
          // If requests are not recorded, the message of the server says how to enable that.
          problem:
            code === 'auth'
              ? 'You need inspect access to see requests, since they contain the instructions of the agent.'
              : message,
        }),
    )
    return () => {
      isWanted = false
    }
  }, [thread, round, round.retries.length, round.endedAt, times])
  return { ...known, refresh: () => setTimes(times + 1) }
}
