import type { ToolContext } from './tool.ts'

/** What a tool is given when it is run by itself, and what it reported. */
export function toolContext(given: Partial<ToolContext> = {}): ToolContext & { progressed: unknown[] } {
  const progressed: unknown[] = []
  return {
    signal: new AbortController().signal,
    runSignal: new AbortController().signal,
    callId: 'call_1',
    runId: 'run_1',
    idempotencyKey: 'run_1:call_1',
    attempt: 1,
    progress: (data) => void progressed.push(data),
    commit: async () => {},
    permits: async () => undefined,
    context: undefined,
    ...given,
    progressed,
  }
}
