import type { Clock, JsonValue } from '../protocol/index.ts'
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
  let settle!: (execution: Execution) => void
  let cancelTimer = () => {}
  let generator: AsyncGenerator | undefined
  const done = new Promise<Execution>((resolve) => {
    settle = (execution) => {
      cancelTimer()
      resolve(execution)
    }
  })

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
    const returned = tool.run(input as never, { ...context, signal: controller.signal })
    if (!isAsyncGenerator(returned)) return returned
    generator = returned
    for (;;) {
      const { done, value } = await returned.next()
      if (done) return value
      try {
        context.progress(value as JsonValue)
      } catch (error) {
        closeGenerator()
        throw error
      }
    }
  }

  invoke().then(
    (value) => settle({ type: 'returned', value }),
    (error: unknown) => settle({ type: 'threw', error }),
  )
  return { done, abandon: (reason) => stop(reason, { type: 'abandoned' }) }
}

function isAsyncGenerator(value: unknown): value is AsyncGenerator {
  return (
    typeof value === 'object' &&
    value !== null &&
    Symbol.asyncIterator in value &&
    typeof (value as AsyncGenerator).next === 'function' &&
    typeof (value as AsyncGenerator).return === 'function'
  )
}
