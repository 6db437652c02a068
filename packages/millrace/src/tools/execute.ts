import type { Clock } from '../protocol/index.ts'
import type { Tool, ToolContext } from './tool.ts'

/** The outcome of running a tool. */
export type Execution =
  | { readonly type: 'returned'; readonly value: unknown }
  | { readonly type: 'threw'; readonly error: unknown }
  | { readonly type: 'timed-out'; readonly timeoutMs: number }
  | { readonly type: 'abandoned' }

export interface RunningCall {
  /** Never rejects. */
  readonly done: Promise<Execution>
  /** Aborts the tool's signal and settles `done` at once, even if the tool keeps running. */
  abandon(reason: Error): void
}

/**
 * Runs a tool once with checked input. If the tool keeps running after a timeout or `abandon`, its
 * result is ignored.
 */
export function executeCall(
  run: NonNullable<Tool['run']>,
  input: unknown,
  context: Omit<ToolContext, 'signal'>,
  { clock, timeoutMs }: { clock: Clock; timeoutMs: number },
): RunningCall {
  const controller = new AbortController()
  const done = Promise.withResolvers<Execution>()
  let cancelTimer = () => {}
  let generator: Generator | AsyncGenerator | undefined

  function settle(execution: Execution) {
    cancelTimer()
    done.resolve(execution)
  }

  function stop(reason: Error, execution: Execution) {
    settle(execution)
    controller.abort(reason)
    closeGenerator()
  }

  /** Runs a generator's `finally`. Not awaited, since the generator may be stuck in an await. */
  function closeGenerator() {
    try {
      Promise.resolve(generator?.return(undefined)).catch(() => {})
    } catch {
      // Ignored: the call is settled.
    }
  }

  if (Number.isFinite(timeoutMs))
    cancelTimer = clock.after(timeoutMs, () => {
      stop(new DOMException(`the tool timed out after ${timeoutMs} ms`, 'TimeoutError'), {
        type: 'timed-out',
        timeoutMs,
      })
    })

  async function invoke(): Promise<unknown> {
    let returned = run(input as never, { ...context, signal: controller.signal })
    if (!isGenerator(returned)) returned = await returned
    if (!isGenerator(returned)) return returned
    generator = returned
    for (let steps = 1; ; steps++) {
      const { done, value } = await generator.next()
      if (done) return value
      try {
        context.progress(value)
      } catch (error) {
        closeGenerator()
        throw error
      }
      // A generator that never awaits anything would block the timer that has to stop it.
      if (steps % stepsPerTurn === 0) await clock.turn()
    }
  }

  invoke().then(
    (value) => settle({ type: 'returned', value }),
    (error: unknown) => settle({ type: 'threw', error }),
  )
  return { done: done.promise, abandon: (reason) => stop(reason, { type: 'abandoned' }) }
}

const stepsPerTurn = 256

function isGenerator(value: unknown): value is Generator | AsyncGenerator {
  if (typeof value !== 'object' || value === null) return false
  if (!(Symbol.asyncIterator in value) && !(Symbol.iterator in value)) return false
  const { next, return: close } = value as Generator
  return typeof next === 'function' && typeof close === 'function'
}
