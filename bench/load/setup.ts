import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStore } from 'millrace/sqlite'
import type { Start } from '../harness/process.ts'
import { cache } from '../harness/write.ts'
import type { FollowersAnswers } from './followers.ts'
import type { LongReaderAnswers } from './long-reader.ts'
import { longThread, writeLongThread } from './long-thread.ts'
import type { LoadScenario, Size } from './part.ts'
import type { ProviderAnswers } from './provider.ts'
import type { ServerAnswers } from './server.ts'

export interface SetupOptions {
  readonly start: Start
  readonly folder: string
  readonly scenario: LoadScenario
  readonly size: Size
  /** Whether to write a CPU profile of the server. */
  readonly profile: boolean
}

/** Longer than the scenario, so that stuck followers stay connected. */
const stuckMs = 600_000

export type Setup = Awaited<ReturnType<typeof startSetup>>

/** A provider, a server with a new database, and followers, each in its own process. */
export async function startSetup({ start, folder, scenario, size, profile }: SetupOptions) {
  const file = join(folder, 'threads.db')
  const { deltas, everyMs, longEntries: entries } = size
  if (scenario.long) {
    const store = sqliteStore(file)
    await writeLongThread(store, { id: longThread, agent: 'desk', entries })
    await store.close()
  }
  const provider = start<ProviderAnswers>('load/provider.ts', { deltas, everyMs })
  const server = start<ServerAnswers>(
    'load/server.ts',
    {
      provider: await provider.ask('open'),
      store: { kind: 'sqlite', file },
      ...(scenario.stuck && { stuckMs }),
    },
    { execArgv: ['--expose-gc', ...(profile ? ['--cpu-prof', `--cpu-prof-dir=${cache}`] : [])] },
  )
  const url = await server.ask('open')
  return {
    provider,
    server,
    followers: start<FollowersAnswers>('load/followers.ts', { urls: [url] }),
    /** Reads the long thread, if the scenario has one. */
    longReader: scenario.long ? start<LongReaderAnswers>('load/long-reader.ts', { url }) : undefined,
    api: api(url),
    /** Bytes on the disk. */
    async databaseSize() {
      const names = await readdir(folder)
      const stats = await Promise.all(names.map((name) => stat(join(folder, name))))
      return stats.reduce((sum, one) => sum + one.size, 0)
    },
  }
}

/** Runs `work` with a temporary folder. */
export async function withFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

interface Listed {
  readonly id: string
  readonly head: number
  readonly status: string
}

export type Api = ReturnType<typeof api>

/** The requests to the server, except following. */
export function api(url: string) {
  async function request(path: string, body?: object): Promise<unknown> {
    const response = await fetch(`${url}${path}`, {
      headers: { 'content-type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${path} responded ${response.status} ${await response.text()}`)
    return response.json()
  }
  return {
    create: async (id: string) => void (await request('/threads', { id })),
    send: async (thread: string, message: string) =>
      void (await request(`/threads/${thread}/messages`, { message })),
    async list(): Promise<readonly Listed[]> {
      const { threads } = (await request('/threads?limit=1000')) as { threads: readonly Listed[] }
      return threads
    },
  }
}
