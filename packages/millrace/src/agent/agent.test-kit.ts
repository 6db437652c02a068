import { afterEach, beforeEach, expect } from 'vitest'
import { z } from 'zod'
import type { DoneEvent, Model, ModelEvent, RunEvent } from '../protocol/index.ts'
import { toolCallsOf } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
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

/** Returns its input. */
export const echo = tool({
  name: 'echo',
  description: 'Returns its input',
  input: z.object({ value: z.string() }),
  run: ({ value }) => value,
})

/** A round that calls `echo`. */
export const callEcho = (value: string): ScriptRound => [{ call: 'echo', input: { value } }]

/** The error of a stream whose connection was reset. */
export const connectionReset = { code: 'stream_error', message: 'connection reset' } as const

/** Refunds after approval. */
export const refundOnApproval = tool({
  name: 'refund',
  description: 'Refunds an amount',
  input: z.object({ amount: z.number() }),
  approve: true,
  run: ({ amount }) => `refunded ${amount}`,
})

/** The refunds made by `refund`; tests clear it first. */
export const refunds: { amount: number; key: string; attempt: number }[] = []

/** Refunds; only large amounts need approval. */
export const refund = tool({
  name: 'refund',
  description: 'Refunds an amount',
  input: z.object({ amount: z.number() }),
  approve: ({ amount }) => amount > 100 && `${amount} is a lot`,
  run: ({ amount }, { idempotencyKey, attempt }) => {
    refunds.push({ amount, key: idempotencyKey, attempt })
    return `refunded ${amount}`
  },
})

/** A model that calls `echo`, then `refund` once for each amount. */
export const refundModel = (...amounts: number[]) =>
  scriptedModel([
    [
      { call: 'echo', input: { value: 'x' } },
      ...amounts.map((amount) => ({ call: 'refund', input: { amount } })),
    ],
    'All settled.',
    'Not reached.',
  ])

/** A tool that finishes when the test opens it; `started` resolves when it has started. */
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

/**
 * Every call in the conversation with the text of its result, in order; throws on a call without
 * one.
 */
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

/** A model that streams exactly what `stream` returns for each round, valid or not. */
export function rawModel(
  stream: (index: number, signal: AbortSignal) => unknown,
): Model & { signals: AbortSignal[] } {
  const signals: AbortSignal[] = []
  return {
    ...scriptedModel([], { id: 'raw' }),
    signals,
    stream(_, { signal }) {
      signals.push(signal)
      return stream(signals.length - 1, signal) as AsyncIterable<ModelEvent>
    },
  }
}

export async function* streamOf(...events: unknown[]) {
  for (const event of events) yield event
}

export const done: DoneEvent = { type: 'done', finish: 'stop' }
export const callOf = (callId: string, input: object = { value: callId }, name = 'echo') => ({
  type: 'tool-call',
  callId,
  name,
  input,
})

/** Fails each test of a file that leaves an unhandled rejection. */
export function failOnUnhandledRejections(): void {
  const rejections: unknown[] = []
  const onRejection = (reason: unknown) => void rejections.push(reason)
  beforeEach(() => {
    rejections.length = 0
    process.on('unhandledRejection', onRejection)
  })
  afterEach(async () => {
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', onRejection)
    expect(rejections).toEqual([])
  })
}
