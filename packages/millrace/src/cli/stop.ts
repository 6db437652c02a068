import type { CommandLine } from './args.ts'
import { exitCodes } from './exit-codes.ts'
import { missingThreadId, openThread } from './open-threads.ts'
import type { Output } from './output.ts'

/** A running worker stops at once. The lease of a worker that died has to expire first. */
const waitMs = 10_000

/** Stops the run of a thread, in whichever process it runs. */
export async function stopThread({ words, flags }: CommandLine, output: Output): Promise<number> {
  const [id] = words
  if (id === undefined) throw missingThreadId('stop')
  const { app, thread, info } = await openThread(flags, id, { mayClaim: true })
  try {
    if (info.status === 'idle') {
      output.note(`thread '${id}' is not running`)
      return exitCodes.ok
    }
    const after = await thread.stop('stopped from the command line')
    const signal = AbortSignal.timeout(waitMs)
    for await (const _ of thread.follow({ after, until: 'idle', signal })) {
      // Only waits for the end.
    }
    output.note(
      signal.aborted
        ? `thread '${id}' has not stopped yet; it stops as soon as it can`
        : `stopped thread '${id}'`,
    )
    return signal.aborted ? exitCodes.timeout : exitCodes.ok
  } finally {
    await app.close({ graceMs: 0 })
  }
}
