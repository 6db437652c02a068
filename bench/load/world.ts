import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStore } from 'millrace/sqlite'
import type { Api } from './api.ts'
import { api } from './api.ts'
import type { FollowersAnswers } from './followers.ts'
import type { LongReaderAnswers } from './long-reader.ts'
import { longThread, writeLongThread } from './long-thread.ts'
import type { Part } from './process.ts'
import { startPart } from './process.ts'
import type { ProviderAnswers } from './provider.ts'
import type { ServerAnswers } from './server.ts'
import type { Scene, Size } from './size.ts'

/** A provider, a server over a new file, and followers, each in a process of its own. */
export interface World {
  readonly provider: Part<ProviderAnswers>
  readonly server: Part<ServerAnswers>
  readonly followers: Part<FollowersAnswers>
  /** Reads a thread that was there before, where the scene has one. */
  readonly longReader: Part<LongReaderAnswers> | undefined
  readonly api: Api
  /** Bytes on the disk. */
  databaseSize(): Promise<number>
  /** Ends everything and leaves nothing behind. May be called twice. */
  close(): Promise<void>
}

export interface WorldOptions {
  readonly scene: Scene
  readonly size: Size
  /** Where to leave a profile of the server's CPU. */
  readonly profile: string | undefined
}

async function prepareLong(file: string, { longEntries: entries }: Size) {
  const store = sqliteStore(file)
  await writeLongThread(store, { id: longThread, agent: 'desk', entries })
  await store.close()
}

/** Those that are stuck stay, so that they are there all the time. */
const stuckMs = 600_000

export async function openWorld({ scene, size, profile }: WorldOptions): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-load-'))
  const file = join(folder, 'threads.db')
  const parts: Part<never>[] = []
  const start: typeof startPart = (name, config, execArgv) => {
    const part = startPart(name, config, execArgv)
    parts.push(part as Part<never>)
    return part as never
  }
  async function close() {
    await Promise.all(parts.map((part) => part.stop()))
    await rm(folder, { recursive: true, force: true })
  }
  try {
    const { deltas, everyMs } = size
    if (scene.long) await prepareLong(file, size)
    const provider = start<ProviderAnswers>('provider.ts', { deltas, everyMs })
    const server = start<ServerAnswers>(
      'server.ts',
      { provider: await provider.ask('open'), file, ...(scene.stuck && { stuckMs }) },
      ['--expose-gc', ...(profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`])],
    )
    const url = await server.ask('open')
    const followers = start<FollowersAnswers>('followers.ts', { url })
    const longReader = scene.long ? start<LongReaderAnswers>('long-reader.ts', { url }) : undefined
    return {
      provider,
      server,
      followers,
      longReader,
      api: api(url),
      async databaseSize() {
        const names = await readdir(folder)
        const stats = await Promise.all(names.map((name) => stat(join(folder, name))))
        return stats.reduce((sum, { size }) => sum + size, 0)
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
