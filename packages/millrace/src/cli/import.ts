import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { ExportedThread } from '../protocol/index.ts'
import { invalidInput, messageOf, readExport, sleep, systemClock } from '../protocol/index.ts'
import type { Thread } from '../threads/index.ts'
import type { CommandLine } from './args.ts'
import { exitCodes } from './exit-codes.ts'
import { resumeHint } from './hints.ts'
import { openStore } from './open-store.ts'
import { appWithoutAgent, cliAgentName } from './open-threads.ts'
import type { Output } from './output.ts'
import { storeAddress } from './store-address.ts'

const op = 'millrace'

/** Creates a thread from a file that `millrace export` or the page wrote; from stdin if it is `-`. */
export async function importThread({ words, flags }: CommandLine, output: Output): Promise<number> {
  const [file] = words
  if (file === undefined)
    throw invalidInput(op, 'millrace import needs a file from millrace export, or - for stdin')
  const exported = readExport(await textOf(file))
  const { agent: exportedAgent = cliAgentName, metadata } = exported.thread as Partial<
    ExportedThread['thread']
  >
  const agent = flags.agent ?? exportedAgent
  const store = await openStore(storeAddress(flags))
  const app = appWithoutAgent(store, agent, { mayClaim: true })
  try {
    const thread = app.thread(flags.id, { agent, ...(metadata && { metadata }) })
    await thread.create({ failIfExists: true, exported })
    await settled(thread)
    output.print(`${thread.id}\n`)
    output.note(`imported ${exported.entries.length} entries; ${resumeHint(thread.id, flags)}`)
    return exitCodes.ok
  } finally {
    await app.close()
  }
}

/** Waits until the thread is released, which makes its texts known to searches. */
async function settled(thread: Thread): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const { status } = await thread.info()
    if (status === 'idle' || status === 'waiting') return
    await sleep(20, { clock: systemClock })
  }
}

async function textOf(file: string): Promise<string> {
  try {
    return await (file === '-' ? text(process.stdin) : readFile(file, 'utf8'))
  } catch (cause) {
    throw invalidInput(op, `cannot read ${file === '-' ? 'stdin' : file}: ${messageOf(cause)}`, cause)
  }
}
