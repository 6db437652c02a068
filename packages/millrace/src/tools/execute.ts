import type { Clock } from '../protocol/index.ts'
import type { Tool, ToolContext } from './tool.ts'

/** How a call that ran came out. */
export type Execution =
  | { readonly type: 'returned'; readonly value: unknown }
  | { readonly type: 'threw'; readonly error: unknown }
  | { readonly type: 'timed-out'; readonly timeoutMs: number }
  | { readonly type: 'abandoned' }

export interface Executing {
  /** Never rejects. */
  readonly done: Promise<Execution>
  /** Aborts the tool's signal and settles `done` at once, whatever the tool does. */
  abandon(reason: Error): void
}

/** Runs a tool once with input that has been checked. A tool that goes on after a time-out or `abandon` is not heard any more. */
export function executeCall(
  tool: Tool,
  input: unknown,
  context: Omit<ToolContext, 'signal'>,
  { clock, timeoutMs }: { clock: Clock; timeoutMs: number },
): Executing {
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

  /** Lets a generator's `finally` run. It may well be stuck in an await, so nobody waits for it. */
  function closeGenerator() {
    try {
      Promise.resolve(generator?.return(undefined)).catch(() => {})
    } catch {
      // Its own affair: the call is settled.
    }
  }

  if (Number.isFinite(timeoutMs))
    cancelTimer = clock.after(timeoutMs, () => {
      stop(new DOMException(`the tool had ${timeoutMs} ms`, 'TimeoutError'), { type: 'timed-out', timeoutMs })
    })

  async function invoke(): Promise<unknown> {
    let returned = tool.run(input as never, { ...context, signal: controller.signal })
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
      // A generator that never waits for anything would hold up the timer that is to stop it.
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
