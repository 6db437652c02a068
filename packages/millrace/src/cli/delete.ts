import { invalidInput } from '../protocol/index.ts'
import type { CommandLine } from './args.ts'
import { exchangesOf } from './exchanges.ts'
import { exitCodes } from './exit-codes.ts'
import { missingThreadId, openThread, openThreads } from './open-threads.ts'
import type { Output } from './output.ts'
import { storeAddress } from './store-address.ts'

/** Deletes a thread and its data, and ends its run; with `--user`, all threads of a user. */
export async function deleteThread({ words, flags }: CommandLine, output: Output): Promise<number> {
  const [id] = words
  const { user } = flags
  if (user !== undefined) {
    if (id !== undefined)
      throw invalidInput('millrace', 'millrace delete takes a thread id or --user, not both')
    return deleteThreadsOf(user, flags, output)
  }
  if (id === undefined) throw missingThreadId('delete')
  const { app, store, thread } = await openThread(flags, id)
  try {
    await thread.delete()
    await (await exchangesOf(storeAddress(flags), store)).delete(id)
    output.note(`deleted thread '${id}'`)
    return exitCodes.ok
  } finally {
    await app.close()
  }
}

async function deleteThreadsOf(user: string, flags: CommandLine['flags'], output: Output): Promise<number> {
  const app = await openThreads(flags)
  try {
    const count = await app.deleteThreads({ user })
    output.note(`deleted ${count} ${count === 1 ? 'thread' : 'threads'} of user '${user}'`)
    return exitCodes.ok
  } finally {
    await app.close()
  }
}
