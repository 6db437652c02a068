import { setTimeout as wait } from 'node:timers/promises'
import type { Api } from './api.ts'
import { messageFor } from './turn.ts'
import type { World } from './world.ts'

/** Keeps a run under way in every thread: when one is answered, the next message is sent. */
export interface Talk {
  /** How many answers were told. */
  readonly answers: () => number
  /** Sends nothing more. Rejects if something could not be sent. */
  stop(): Promise<void>
}

/** Begins one thread after the other, so that their runs end one after the other too. Resolves when all have begun. */
export async function talkIn(
  threads: readonly string[],
  { provider, api }: Pick<World, 'provider' | 'api'>,
  spreadMs: number,
): Promise<Talk> {
  const sending = new Set<Promise<void>>()
  let failure: unknown
  let isOver = false
  let answers = 0

  function send(thread: string) {
    if (isOver) return
    const sent = api.send(thread, messageFor(thread, 'talk')).then(
      () => void sending.delete(sent),
      (error: unknown) => {
        failure ??= error
      },
    )
    sending.add(sent)
  }

  provider.onWord((thread) => {
    answers++
    send(thread)
  })
  const begin = performance.now()
  for (const [index, thread] of threads.entries()) {
    await wait(Math.max(0, begin + (index * spreadMs) / threads.length - performance.now()))
    send(thread)
  }
  return {
    answers: () => answers,
    async stop() {
      isOver = true
      await Promise.all(sending)
      if (failure !== undefined) throw failure
    },
  }
}

/** Has some threads tell more than the buffers of a connection hold. */
export async function tellMuch(threads: readonly string[], api: Api, signal: AbortSignal): Promise<void> {
  for (const thread of threads) await api.send(thread, messageFor(thread, 'watch'))
  await allAtRest(api, signal)
}

/** Resolves with the number of each thread's last entry when nothing is under way any more. */
export async function allAtRest(api: Api, signal: AbortSignal): Promise<Readonly<Record<string, number>>> {
  for (;;) {
    signal.throwIfAborted()
    const threads = await api.list()
    if (threads.every(({ status }) => status === 'idle'))
      return Object.fromEntries(threads.map(({ id, head }) => [id, head]))
    await wait(250)
  }
}
