import type { CommandLine } from './args.ts'
import { exchangesAt } from './exchanges.ts'
import { exitCodes } from './exit-codes.ts'
import { missingThreadId, openThread } from './open-threads.ts'
import type { Output } from './output.ts'

/** Deletes a thread and its data, and ends its run. */
export async function deleteThread({ words, flags }: CommandLine, output: Output): Promise<number> {
  const [id] = words
  if (id === undefined) throw missingThreadId('delete')
  const { app, thread } = await openThread(flags.data, id)
  try {
    await thread.delete()
    await exchangesAt(flags.data).delete(id)
    output.note(`deleted thread '${id}'`)
    return exitCodes.ok
  } finally {
    await app.close()
  }
}
