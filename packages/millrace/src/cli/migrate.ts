import { isDeepStrictEqual } from 'node:util'
import { invalidInput } from '../protocol/index.ts'
import type { CommandLine } from './args.ts'
import type { Copied } from './copy-threads.ts'
import { copyThreads } from './copy-threads.ts'
import { exitCodes } from './exit-codes.ts'
import type { Interruption } from './interrupts.ts'
import { onInterrupt } from './interrupts.ts'
import { jsonLine } from './json-lines.ts'
import { openStore } from './open-store.ts'
import type { Output } from './output.ts'
import type { StoreAddress } from './store-address.ts'
import { readStoreAddress } from './store-address.ts'
import { cleanLine } from './terminal/index.ts'

/** Copies all threads from one store to another. Can be interrupted and repeated. */
export async function migrate({ flags }: CommandLine, output: Output): Promise<number> {
  const [from, to] = [readFlag(flags.from, '--from'), readFlag(flags.to, '--to')]
  if (isDeepStrictEqual(from, to))
    throw invalidInput('millrace', '--from and --to are the same store: there is nothing to copy')
  const stopping = new AbortController()
  let interruption: Interruption | undefined
  onInterrupt((why) => {
    interruption = why
    stopping.abort()
  })
  const line = progressLine()
  const source = await openStore(from, { mustExist: true })
  try {
    const target = await openStore(to)
    try {
      const result = await copyThreads({ source, target, signal: stopping.signal, onProgress: line.show })
      line.clear()
      const { copied, present, conflicts } = result
      if (flags.json) output.print(jsonLine({ result: { copied, present, conflicts } }))
      report(result, output)
      if (interruption) output.note('interrupted: run the same command again to copy the rest')
      return interruption?.exit ?? (conflicts.length > 0 ? exitCodes.failed : exitCodes.ok)
    } finally {
      line.clear()
      await target.close()
    }
  } finally {
    await source.close()
  }
}

function readFlag(value: string | undefined, name: string): StoreAddress {
  if (value !== undefined) return readStoreAddress(value, name)
  throw invalidInput(
    'millrace',
    'millrace migrate needs --from and --to, such as --from sqlite:threads.db --to postgres://localhost/millrace',
  )
}

function report({ total, copied, present, conflicts }: Copied, output: Output): void {
  for (const id of conflicts)
    output.note(
      `thread '${cleanLine(id)}' was not copied: the target has another thread with this id. Delete one of the two and run this again`,
    )
  const parts = [
    `copied ${copied} ${copied === 1 ? 'thread' : 'threads'}`,
    ...(present > 0 ? [`${present} ${present === 1 ? 'was' : 'were'} already there`] : []),
    ...(conflicts.length > 0 ? [`${conflicts.length} not copied`] : []),
  ]
  output.note(total === 0 ? 'there are no threads to copy' : parts.join(', '))
}

/** One line on a terminal that is overwritten. */
function progressLine() {
  const { stderr, env } = process
  const isShown = stderr.isTTY && env.TERM !== 'dumb'
  return {
    show(done: number, total: number) {
      if (isShown) stderr.write(`\rcopying thread ${done + 1} of ${total}\x1b[K`)
    },
    clear() {
      if (isShown) stderr.write('\r\x1b[K')
    },
  }
}
