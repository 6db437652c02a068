import type { ToolContext } from './tool.ts'

/** The context for a tool that a test calls directly, and the progress and costs it reported. */
export function toolContext(
  given: Partial<ToolContext> = {},
): ToolContext & { progressed: unknown[]; spent: number[] } {
  const progressed: unknown[] = []
  const spent: number[] = []
  return {
    signal: new AbortController().signal,
    runSignal: new AbortController().signal,
    callId: 'call_1',
    runId: 'run_1',
    idempotencyKey: 'run_1:call_1',
    attempt: 1,
    progress: (data) => void progressed.push(data),
    spend: ({ usd }) => void spent.push(usd),
    metadata: () => ({}),
    updateMetadata: () => {},
    commit: async () => {},
    checkAccess: async () => undefined,
    context: undefined,
    ...given,
    progressed,
    spent,
  }
}
