import { invalidInput } from '../protocol/index.ts'
import type { CommandLine } from './args.ts'
import { exchangesAt } from './exchanges.ts'
import { exitCodes } from './exit-codes.ts'
import type { Output } from './output.ts'
import { threadAt } from './threads-at.ts'

/** Deletes a thread and everything in it. A run that is under way ends with it. */
export async function deleteThread({ words, flags }: CommandLine, output: Output): Promise<number> {
  const [id] = words
  if (id === undefined)
    throw invalidInput('millrace', 'millrace delete takes the id of a thread: millrace threads lists them')
  const { app, thread } = await threadAt(flags.data, id)
  try {
    await thread.delete()
    await exchangesAt(flags.data).delete(id)
    output.tell(`the thread '${id}' is deleted`)
    return exitCodes.ok
  } finally {
    await app.close()
  }
}
