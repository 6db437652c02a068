import { z } from 'zod'
import type { RunEvent } from '../protocol/index.ts'
import { toolCallsOf } from '../protocol/index.ts'
import { tool } from '../tools/index.ts'
import type { RunResult } from './run.ts'

export async function collect(run: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const events: RunEvent[] = []
  for await (const event of run) events.push(event)
  return events
}

/** The events of one type, typed. */
export function of<Type extends RunEvent['type']>(events: readonly RunEvent[], type: Type) {
  return events.filter((event): event is Extract<RunEvent, { type: Type }> => event.type === type)
}

export function typesOf(events: readonly RunEvent[]): string[] {
  return events.map((event) => event.type)
}

/** Answers with what it is given. */
export const echo = tool({
  name: 'echo',
  description: 'Says it again',
  input: z.object({ value: z.string() }),
  run: ({ value }) => value,
})

/** A tool that finishes when it is told to; `started` resolves when it has begun. */
export function gate(name = 'gate') {
  const opened = Promise.withResolvers<unknown>()
  const started = Promise.withResolvers<AbortSignal>()
  let runs = 0
  return {
    open: opened.resolve,
    fail: opened.reject,
    started: started.promise,
    get runs() {
      return runs
    },
    tool: tool({
      name,
      description: 'Waits until it is opened',
      input: z.object({}),
      run: (_, { signal }) => {
        runs++
        started.resolve(signal)
        return opened.promise
      },
    }),
  }
}

/** Every call in the conversation with the text of its result, in order; fails on a call without one. */
export function pairs(result: Pick<RunResult<unknown>, 'messages'>): [callId: string, result: string][] {
  const results = new Map<string, string>()
  for (const message of result.messages)
    if (message.role === 'tool')
      results.set(
        message.callId,
        message.content.map((part) => (part.type === 'text' ? part.text : part.type)).join(),
      )
  return result.messages.flatMap(toolCallsOf).map(({ callId }) => {
    const text = results.get(callId)
    if (text === undefined) throw new Error(`the call ${callId} has no result`)
    return [callId, text]
  })
}
