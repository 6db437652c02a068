import { invalidInput } from '../protocol/index.ts'
import type { CommandLine } from './args.ts'
import { exitCodes } from './exit-codes.ts'
import type { Output } from './output.ts'
import { threadAt } from './threads-at.ts'

/** Whoever works on it hears of it at once; one that is gone has left a lease behind, which has to run out. */
const patienceMs = 10_000

/** Stops what a thread is doing, wherever that is being done. */
export async function stopThread({ words, flags }: CommandLine, output: Output): Promise<number> {
  const [id] = words
  if (id === undefined)
    throw invalidInput('millrace', 'millrace stop takes the id of a thread: millrace threads lists them')
  const { app, thread, info } = await threadAt(flags.data, id, { works: true })
  try {
    if (info.status === 'idle') {
      output.tell(`the thread '${id}' is doing nothing`)
      return exitCodes.ok
    }
    const after = await thread.stop('stopped from the command line')
    const signal = AbortSignal.timeout(patienceMs)
    for await (const _ of thread.follow({ after, until: 'idle', signal })) {
      // Its end is all there is to wait for.
    }
    output.tell(
      signal.aborted
        ? `the thread '${id}' has been told, and has not stopped yet`
        : `the thread '${id}' has stopped`,
    )
    return signal.aborted ? exitCodes.timeout : exitCodes.ok
  } finally {
    await app.close({ graceMs: 0 })
  }
}
