import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/index.ts'
import type { Entry, ThreadEvent } from '../protocol/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import type { App, AppOptions, Thread, ThreadStore } from './index.ts'
import { memoryStore, millrace } from './index.ts'

/** An app that is closed when the test ends. */
export function startApp(options: Partial<AppOptions> & Pick<AppOptions, 'agents'>): App {
  const app = millrace({ flushMs: 0, ...options })
  onTestFinished(() => app.close({ graceMs: 0 }))
  return app
}

/** A store that is closed when the test ends, after the apps on it. */
export function openStore(): ThreadStore {
  const store = memoryStore()
  onTestFinished(() => store.close())
  return store
}

/** An agent that always answers with this text. */
export const answering = (text: string) => agent({ name: 'helper', model: scriptedModel(() => text) })

/** Reads a thread until it comes to rest. */
export async function untilIdle(thread: Thread, after = 0): Promise<Entry[]> {
  const entries: Entry[] = []
  for await (const entry of thread.follow({ after, until: 'idle' })) entries.push(entry)
  return entries
}

export function eventsOf<Type extends ThreadEvent['type']>(entries: readonly Entry[], type: Type) {
  return entries.flatMap(({ event }) =>
    event.type === type ? [event as Extract<ThreadEvent, { type: Type }>] : [],
  )
}

export function typesOf(entries: readonly Entry[]): string[] {
  return entries.map(({ event }) => event.type)
}

export function textIn(entries: readonly Entry[]): string {
  return eventsOf(entries, 'text')
    .map(({ text }) => text)
    .join('')
}

/** Throws if a number is missing or occurs twice. */
export function checkNumbers(entries: readonly Entry[], after = 0): void {
  let last = after
  for (const { seq, from = seq } of entries) {
    if (from !== last + 1) throw new Error(`after ${last} came ${from}`)
    last = seq
  }
}

/** A tool that counts its runs; each run waits until it is released. */
export function heldTool(name: string, options: { repeat?: 'safe' | 'never'; approve?: boolean } = {}) {
  const runs: { readonly release: (value?: unknown) => void; readonly signal: AbortSignal }[] = []
  const started: ((count: number) => void)[] = []
  return {
    runs,
    /** Resolves when it has been started this many times. */
    async startedTimes(count: number): Promise<void> {
      while (runs.length < count) await new Promise((resolve) => started.push(resolve))
    },
    tool: tool({
      name,
      description: 'Waits until it is released',
      input: z.object({}),
      ...options,
      run: (_, { signal }) =>
        new Promise((resolve) => {
          runs.push({ release: (value = 'done') => resolve(value), signal })
          for (const wake of started.splice(0)) wake(runs.length)
        }),
    }),
  }
}
