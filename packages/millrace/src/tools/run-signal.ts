/** Aborts the background work of tool calls when their run is canceled or fails. */
export interface RunSignal {
  signal(): AbortSignal
  /** Aborts the signal, unless `keepBackground` is set, and forgets the run. */
  end(options: { readonly keepBackground: boolean; readonly reason: string }): void
}

/**
 * How many suspended runs with background work are tracked. Beyond that, the oldest are dropped.
 */
const maxControllers = 10_000

const controllers = new Map<string, AbortController>()

/**
 * Shared by all parts of a run that is suspended and resumed in this process. `parent` is the
 * signal of the parent run.
 */
export function createRunSignal(originId: string, parent: AbortSignal | undefined): RunSignal {
  let own: AbortController | undefined
  let signal: AbortSignal | undefined

  function controller(): AbortController {
    own ??= controllers.get(originId) ?? new AbortController()
    if (!controllers.has(originId)) {
      const [oldest] = controllers.keys()
      if (controllers.size >= maxControllers && oldest !== undefined) controllers.delete(oldest)
      controllers.set(originId, own)
    }
    return own
  }

  return {
    signal() {
      signal ??= parent ? AbortSignal.any([parent, controller().signal]) : controller().signal
      return signal
    },
    end({ keepBackground, reason }) {
      if (!keepBackground) (own ?? controllers.get(originId))?.abort(new DOMException(reason, 'AbortError'))
      controllers.delete(originId)
    },
  }
}
