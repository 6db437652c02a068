/** Says when a run is over otherwise than in good order, to what its calls have left running. */
export interface RunEnding {
  readonly signal: AbortSignal
  /** `inOrder` leaves things running. Either way nothing more is said of this run. */
  over(options: { readonly inOrder: boolean; readonly reason: string }): void
}

/** So many runs may wait for a person while something of theirs is running; of more the oldest are forgotten. */
const most = 10_000

const endings = new Map<string, AbortController>()

/** The same for all parts of a run that is suspended and gone on with in this process. `around` is that of the run around it. */
export function runEnding(originId: string, around: AbortSignal | undefined): RunEnding {
  let own: AbortController | undefined
  let signal: AbortSignal | undefined

  function controller(): AbortController {
    own ??= endings.get(originId) ?? new AbortController()
    if (!endings.has(originId)) {
      const [oldest] = endings.keys()
      if (endings.size >= most && oldest !== undefined) endings.delete(oldest)
      endings.set(originId, own)
    }
    return own
  }

  return {
    get signal() {
      signal ??= around ? AbortSignal.any([around, controller().signal]) : controller().signal
      return signal
    },
    over({ inOrder, reason }) {
      if (!inOrder) (own ?? endings.get(originId))?.abort(new DOMException(reason, 'AbortError'))
      endings.delete(originId)
    },
  }
}
